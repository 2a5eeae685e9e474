// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-form-dispatches=fusion=143 -split-input-file | FileCheck %s
// RUN: bp-opt %s --bp-form-dispatches=fusion=15 -split-input-file | FileCheck %s --check-prefix=APART
// RUN: bp-opt %s --bp-form-dispatches="fusion=143 max-ops=4" -split-input-file | FileCheck %s --check-prefix=FEW

// Scores, the mask that is added, softmax and the product with values are one
// dispatch. What makes the mask is another one.
// CHECK-LABEL: func.func @main
// CHECK: %[[MASK:.*]] = call @log_0(%arg3)
// CHECK-NEXT: call @attention_1(%arg0, %arg1, %[[MASK]], %arg2)
// CHECK-NEXT: return
// CHECK: func.func @attention_1
// CHECK-NOT: bp.kernel
// CHECK: bp.matmul
// CHECK: bp.add
// CHECK: bp.matmul
// APART-LABEL: func.func @main
// APART-COUNT-4: call
// APART: return
// FEW-LABEL: func.func @main
// FEW-NOT: call @attention
// FEW: return
func.func @main(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x7x16xf32>, %v: tensor<2x4x7x8xf32>, %m: tensor<2x1x5x7xf32>) -> tensor<2x4x5x8xf32> {
  %x = bp.matmul %q, %k {transpose_b = true} : (tensor<2x4x5x16xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x5x7xf32>
  %n = bp.log %m : (tensor<2x1x5x7xf32>) -> tensor<2x1x5x7xf32>
  %ms = bp.broadcast %n {dims = #bp.dims<["2", "4", "5", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x1x5x7xf32>) -> tensor<2x4x5x7xf32>
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

// Queries, keys and values are slices of one tensor, transposed and scaled, and
// the result is transposed: all of it is read and written in place.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @attention_0(%arg0)
// CHECK-NEXT: return
// CHECK: func.func @attention_0
// CHECK-COUNT-3: bp.slice
func.func @main(%qkv: tensor<2x5x3x4x16xf32>) -> tensor<2x5x4x16xf32> {
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

// Weights that are a result are in memory.
// CHECK-LABEL: func.func @main
// CHECK-NOT: call @attention
// CHECK: return
func.func @main(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x7x16xf32>, %v: tensor<2x4x7x8xf32>) -> (tensor<2x4x5x8xf32>, tensor<2x4x5x7xf32>) {
  %x = bp.matmul %q, %k {transpose_b = true} : (tensor<2x4x5x16xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x5x7xf32>
  %top = bp.reduce %x {kind = "max", axes = array<i64: 3>, keep = true} : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x1xf32>
  %tops = bp.broadcast %top {dims = #bp.dims<["2", "4", "5", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x5x1xf32>) -> tensor<2x4x5x7xf32>
  %below = bp.sub %x, %tops : (tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %exp = bp.exp %below : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %sum = bp.reduce %exp {kind = "sum", axes = array<i64: 3>, keep = true} : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x1xf32>
  %sums = bp.broadcast %sum {dims = #bp.dims<["2", "4", "5", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x5x1xf32>) -> tensor<2x4x5x7xf32>
  %w = bp.div %exp, %sums : (tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %r = bp.matmul %w, %v : (tensor<2x4x5x7xf32>, tensor<2x4x7x8xf32>) -> tensor<2x4x5x8xf32>
  return %r, %w : tensor<2x4x5x8xf32>, tensor<2x4x5x7xf32>
}

// -----

// Keys that something else needs stay where they are.
// CHECK-LABEL: func.func @main
// CHECK: call @transpose
// CHECK: call @attention
// CHECK: return
func.func @main(%q: tensor<2x4x5x16xf32>, %k: tensor<2x7x4x16xf32>, %v: tensor<2x4x7x8xf32>) -> (tensor<2x4x5x8xf32>, tensor<2x4x7x16xf32>) {
  %t = bp.transpose %k {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x7x4x16xf32>) -> tensor<2x4x7x16xf32>
  %x = bp.matmul %q, %t {transpose_b = true} : (tensor<2x4x5x16xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x5x7xf32>
  %top = bp.reduce %x {kind = "max", axes = array<i64: 3>, keep = true} : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x1xf32>
  %tops = bp.broadcast %top {dims = #bp.dims<["2", "4", "5", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x5x1xf32>) -> tensor<2x4x5x7xf32>
  %below = bp.sub %x, %tops : (tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %exp = bp.exp %below : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %sum = bp.reduce %exp {kind = "sum", axes = array<i64: 3>, keep = true} : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x1xf32>
  %sums = bp.broadcast %sum {dims = #bp.dims<["2", "4", "5", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x5x1xf32>) -> tensor<2x4x5x7xf32>
  %w = bp.div %exp, %sums : (tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %r = bp.matmul %w, %v : (tensor<2x4x5x7xf32>, tensor<2x4x7x8xf32>) -> tensor<2x4x5x8xf32>
  return %r, %t : tensor<2x4x5x8xf32>, tensor<2x4x7x16xf32>
}

// -----

// Values that are made of the scores would make a circle.
// CHECK-LABEL: func.func @main
// CHECK-NOT: call @attention
// CHECK: return
func.func @main(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x7x16xf32>) -> tensor<2x4x5x5xf32> {
  %x = bp.matmul %q, %k {transpose_b = true} : (tensor<2x4x5x16xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x5x7xf32>
  %top = bp.reduce %x {kind = "max", axes = array<i64: 3>, keep = true} : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x1xf32>
  %tops = bp.broadcast %top {dims = #bp.dims<["2", "4", "5", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x5x1xf32>) -> tensor<2x4x5x7xf32>
  %below = bp.sub %x, %tops : (tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %exp = bp.exp %below : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %sum = bp.reduce %exp {kind = "sum", axes = array<i64: 3>, keep = true} : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x1xf32>
  %sums = bp.broadcast %sum {dims = #bp.dims<["2", "4", "5", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x5x1xf32>) -> tensor<2x4x5x7xf32>
  %w = bp.div %exp, %sums : (tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %v = bp.transpose %x {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x4x5x7xf32>) -> tensor<2x4x7x5xf32>
  %r = bp.matmul %w, %v : (tensor<2x4x5x7xf32>, tensor<2x4x7x5xf32>) -> tensor<2x4x5x5xf32>
  return %r : tensor<2x4x5x5xf32>
}

// -----

// A product, a norm without powers and another product are no attention.
// CHECK-LABEL: func.func @main
// CHECK-NOT: call @attention
// CHECK: return
func.func @main(%q: tensor<2x4x5x16xf32>, %k: tensor<2x4x7x16xf32>, %v: tensor<2x4x7x8xf32>) -> tensor<2x4x5x8xf32> {
  %x = bp.matmul %q, %k {transpose_b = true} : (tensor<2x4x5x16xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x5x7xf32>
  %top = bp.reduce %x {kind = "sum", axes = array<i64: 3>, keep = true} : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x1xf32>
  %tops = bp.broadcast %top {dims = #bp.dims<["2", "4", "5", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x5x1xf32>) -> tensor<2x4x5x7xf32>
  %w = bp.sub %x, %tops : (tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %r = bp.matmul %w, %v : (tensor<2x4x5x7xf32>, tensor<2x4x7x8xf32>) -> tensor<2x4x5x8xf32>
  return %r : tensor<2x4x5x8xf32>
}

// -----

// Three rows of scores are few.
// CHECK-LABEL: func.func @main
// CHECK-NOT: call @attention
// CHECK: return
func.func @main(%q: tensor<2x4x3x16xf32>, %k: tensor<2x4x7x16xf32>, %v: tensor<2x4x7x8xf32>) -> tensor<2x4x3x8xf32> {
  %x = bp.matmul %q, %k {transpose_b = true} : (tensor<2x4x3x16xf32>, tensor<2x4x7x16xf32>) -> tensor<2x4x3x7xf32>
  %exp = bp.exp %x : (tensor<2x4x3x7xf32>) -> tensor<2x4x3x7xf32>
  %sum = bp.reduce %exp {kind = "sum", axes = array<i64: 3>, keep = true} : (tensor<2x4x3x7xf32>) -> tensor<2x4x3x1xf32>
  %sums = bp.broadcast %sum {dims = #bp.dims<["2", "4", "3", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x3x1xf32>) -> tensor<2x4x3x7xf32>
  %w = bp.div %exp, %sums : (tensor<2x4x3x7xf32>, tensor<2x4x3x7xf32>) -> tensor<2x4x3x7xf32>
  %r = bp.matmul %w, %v : (tensor<2x4x3x7xf32>, tensor<2x4x7x8xf32>) -> tensor<2x4x3x8xf32>
  return %r : tensor<2x4x3x8xf32>
}
