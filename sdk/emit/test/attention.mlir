// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-lower-to-linalg -bp-bind-buffers -bp-contract=vector-bits=512 -split-input-file | FileCheck %s

// A work-group has scores of some rows in memory of its own; the steps of the
// softmax run over them, and both products are packed loops.
// CHECK-LABEL: func.func @plain
// CHECK: scf.forall (%{{.*}}, %{{.*}}) in (2, 4)
// CHECK: memref.alloc() {{.*}} : memref<5x16xf32>
// CHECK: math.fma
// CHECK: linalg.generic
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: arith.divf
// CHECK-NOT: linalg.generic
// CHECK: math.fma
// CHECK-NOT: tensor.
func.func @plain(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x7x16xf32>, %v: tensor<2x4x7x8xf32>, %m: tensor<2x1x5x7xf32>) -> tensor<2x4x5x8xf32>
    attributes {bp.dispatch, bp.symbols = []} {
  %x = bp.matmul %q, %k {transpose_b = true} : (tensor<2x4x5x16xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x5x7xf32>
  %ms = bp.broadcast %m {dims = #bp.dims<["2", "4", "5", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x1x5x7xf32>) -> tensor<2x4x5x7xf32>
  %y = bp.add %x, %ms : (tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %top = bp.reduce %y {kind = "max", axes = array<i64: 3>, keep = true} : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x1xf32>
  %tops = bp.broadcast %top {dims = #bp.dims<["2", "4", "5", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x5x1xf32>) -> tensor<2x4x5x7xf32>
  %below = bp.sub %y, %tops : (tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %exp = bp.exp %below : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %sum = bp.reduce %exp {kind = "sum", axes = array<i64: 3>, keep = true} : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x1xf32>
  %sums = bp.broadcast %sum {dims = #bp.dims<["2", "4", "5", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x5x1xf32>) -> tensor<2x4x5x7xf32>
  %w = bp.div %exp, %sums : (tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %r = bp.matmul %w, %v : (tensor<2x4x5x7xf32>, tensor<2x4x7x8xf32>) -> tensor<2x4x5x8xf32>
  return %r : tensor<2x4x5x8xf32>
}

// -----

// Operands are read where they lie in one binding, the result is written where
// it belongs.
// CHECK-LABEL: func.func @parts(%arg0: memref<2x5x3x4x16xf32>
// CHECK: scf.forall
// CHECK-NOT: memref.copy
// CHECK-NOT: tensor.
func.func @parts(%qkv: tensor<2x5x3x4x16xf32>) -> tensor<2x5x4x16xf32>
    attributes {bp.dispatch, bp.symbols = []} {
  %sq = bp.slice %qkv {starts = #bp.dims<["0", "0", "0", "0", "0"]>, sizes = #bp.dims<["2", "5", "1", "4", "16"]>, strides = array<i64: 1, 1, 1, 1, 1>} : (tensor<2x5x3x4x16xf32>) -> tensor<2x5x1x4x16xf32>
  %rq = bp.reshape %sq {dims = #bp.dims<["2", "5", "4", "16"]>} : (tensor<2x5x1x4x16xf32>) -> tensor<2x5x4x16xf32>
  %q = bp.transpose %rq {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x4x16xf32>) -> tensor<2x4x5x16xf32>
  %sk = bp.slice %qkv {starts = #bp.dims<["0", "0", "1", "0", "0"]>, sizes = #bp.dims<["2", "5", "1", "4", "16"]>, strides = array<i64: 1, 1, 1, 1, 1>} : (tensor<2x5x3x4x16xf32>) -> tensor<2x5x1x4x16xf32>
  %rk = bp.reshape %sk {dims = #bp.dims<["2", "5", "4", "16"]>} : (tensor<2x5x1x4x16xf32>) -> tensor<2x5x4x16xf32>
  %k = bp.transpose %rk {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x4x16xf32>) -> tensor<2x4x5x16xf32>
  %sv = bp.slice %qkv {starts = #bp.dims<["0", "0", "2", "0", "0"]>, sizes = #bp.dims<["2", "5", "1", "4", "16"]>, strides = array<i64: 1, 1, 1, 1, 1>} : (tensor<2x5x3x4x16xf32>) -> tensor<2x5x1x4x16xf32>
  %rv = bp.reshape %sv {dims = #bp.dims<["2", "5", "4", "16"]>} : (tensor<2x5x1x4x16xf32>) -> tensor<2x5x4x16xf32>
  %v = bp.transpose %rv {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x4x16xf32>) -> tensor<2x4x5x16xf32>
  %c = bp.constant {dims = #bp.dims<["2", "4", "5", "16"]>, dtype = f32, value = dense<0.25> : tensor<2x4x5x16xf32>} : () -> tensor<2x4x5x16xf32>
  %qc = bp.mul %q, %c : (tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32>) -> tensor<2x4x5x16xf32>
  %x = bp.matmul %qc, %k {transpose_b = true} : (tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32>) -> tensor<2x4x5x5xf32>
  %top = bp.reduce %x {kind = "max", axes = array<i64: 3>, keep = true} : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x1xf32>
  %tops = bp.broadcast %top {dims = #bp.dims<["2", "4", "5", "5"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x5x1xf32>) -> tensor<2x4x5x5xf32>
  %below = bp.sub %x, %tops : (tensor<2x4x5x5xf32>, tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %exp = bp.exp %below : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %sum = bp.reduce %exp {kind = "sum", axes = array<i64: 3>, keep = true} : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x1xf32>
  %sums = bp.broadcast %sum {dims = #bp.dims<["2", "4", "5", "5"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x5x1xf32>) -> tensor<2x4x5x5xf32>
  %w = bp.div %exp, %sums : (tensor<2x4x5x5xf32>, tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %r = bp.matmul %w, %v : (tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32>) -> tensor<2x4x5x16xf32>
  %t = bp.transpose %r {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x5x16xf32>) -> tensor<2x5x4x16xf32>
  return %t : tensor<2x5x4x16xf32>
}

// -----

// Any number of rows and columns.
// CHECK-LABEL: func.func @symbolic
// CHECK: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (4, %{{.*}}) step (1, 64)
// CHECK: memref.alloc(%{{.*}}) {{.*}} : memref<64x?xf32>
// CHECK-NOT: tensor.
func.func @symbolic(%q: tensor<4x?x16xf32, #bp.dims<["4", "s", "16"]>>, %k: tensor<4x?x16xf32, #bp.dims<["4", "t", "16"]>>, %v: tensor<4x?x16xf32, #bp.dims<["4", "t", "16"]>>) -> tensor<4x?x16xf32, #bp.dims<["4", "s", "16"]>>
    attributes {bp.dispatch, bp.symbols = ["s", "t"]} {
  %x = bp.matmul %q, %k {transpose_b = true} : (tensor<4x?x16xf32, #bp.dims<["4", "s", "16"]>>, tensor<4x?x16xf32, #bp.dims<["4", "t", "16"]>>) -> tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>
  %top = bp.reduce %x {kind = "max", axes = array<i64: 2>, keep = true} : (tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>) -> tensor<4x?x1xf32, #bp.dims<["4", "s", "1"]>>
  %tops = bp.broadcast %top {dims = #bp.dims<["4", "s", "t"]>, axes = array<i64: 0, 1, 2>} : (tensor<4x?x1xf32, #bp.dims<["4", "s", "1"]>>) -> tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>
  %below = bp.sub %x, %tops : (tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>, tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>) -> tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>
  %exp = bp.exp %below : (tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>) -> tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>
  %sum = bp.reduce %exp {kind = "sum", axes = array<i64: 2>, keep = true} : (tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>) -> tensor<4x?x1xf32, #bp.dims<["4", "s", "1"]>>
  %sums = bp.broadcast %sum {dims = #bp.dims<["4", "s", "t"]>, axes = array<i64: 0, 1, 2>} : (tensor<4x?x1xf32, #bp.dims<["4", "s", "1"]>>) -> tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>
  %w = bp.div %exp, %sums : (tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>, tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>) -> tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>
  %r = bp.matmul %w, %v : (tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>, tensor<4x?x16xf32, #bp.dims<["4", "t", "16"]>>) -> tensor<4x?x16xf32, #bp.dims<["4", "s", "16"]>>
  return %r : tensor<4x?x16xf32, #bp.dims<["4", "s", "16"]>>
}

// -----

// A causal mask is computed in registers: no operand holds it.
// CHECK-LABEL: func.func @causal
// CHECK: scf.forall
// CHECK: vector.step
// CHECK: arith.select
// CHECK-NOT: tensor.
func.func @causal(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x7x16xf32>, %v: tensor<2x4x7x8xf32>) -> tensor<2x4x5x8xf32>
    attributes {bp.dispatch, bp.symbols = []} {
  %x = bp.matmul %q, %k {transpose_b = true} : (tensor<2x4x5x16xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x5x7xf32>
  %i = bp.iota {dtype = i64, dims = #bp.dims<["2", "4", "5", "7"]>, axis = 2} : () -> tensor<2x4x5x7xi64>
  %j = bp.iota {dtype = i64, dims = #bp.dims<["2", "4", "5", "7"]>, axis = 3} : () -> tensor<2x4x5x7xi64>
  %seen = bp.compare %j, %i {direction = "le"} : (tensor<2x4x5x7xi64>, tensor<2x4x5x7xi64>) -> tensor<2x4x5x7xi1>
  %inf = bp.constant {dims = #bp.dims<["2", "4", "5", "7"]>, dtype = f32, value = dense<0xFF800000> : tensor<2x4x5x7xf32>} : () -> tensor<2x4x5x7xf32>
  %y = bp.select %seen, %x, %inf : (tensor<2x4x5x7xi1>, tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %top = bp.reduce %y {kind = "max", axes = array<i64: 3>, keep = true} : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x1xf32>
  %tops = bp.broadcast %top {dims = #bp.dims<["2", "4", "5", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x5x1xf32>) -> tensor<2x4x5x7xf32>
  %below = bp.sub %y, %tops : (tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %exp = bp.exp %below : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %sum = bp.reduce %exp {kind = "sum", axes = array<i64: 3>, keep = true} : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x1xf32>
  %sums = bp.broadcast %sum {dims = #bp.dims<["2", "4", "5", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x5x1xf32>) -> tensor<2x4x5x7xf32>
  %w = bp.div %exp, %sums : (tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %r = bp.matmul %w, %v : (tensor<2x4x5x7xf32>, tensor<2x4x7x8xf32>) -> tensor<2x4x5x8xf32>
  return %r : tensor<2x4x5x8xf32>
}
