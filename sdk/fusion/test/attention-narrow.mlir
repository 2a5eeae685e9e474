// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-form-dispatches=fusion=391 -split-input-file | FileCheck %s
// RUN: bp-opt %s --bp-form-dispatches=fusion=135 -split-input-file | FileCheck %s --check-prefix=APART

// One row of halves is one dispatch, where the device says so.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @attention_0(%arg0, %arg1, %arg2)
// CHECK-NEXT: return
// APART-LABEL: func.func @main
// APART-NOT: call @attention
// APART: return
func.func @main(%q: tensor<4x1x16xf16>, %k: tensor<4x7x16xf16>, %v: tensor<4x7x8xf16>) -> tensor<4x1x8xf16> {
  %x = bp.matmul %q, %k {transpose_b = true} : (tensor<4x1x16xf16>, tensor<4x7x16xf16>) -> tensor<4x1x7xf16>
  %top = bp.reduce %x {kind = "max", axes = array<i64: 2>, keep = true} : (tensor<4x1x7xf16>) -> tensor<4x1x1xf16>
  %tops = bp.broadcast %top {dims = #bp.dims<["4", "1", "7"]>, axes = array<i64: 0, 1, 2>} : (tensor<4x1x1xf16>) -> tensor<4x1x7xf16>
  %below = bp.sub %x, %tops : (tensor<4x1x7xf16>, tensor<4x1x7xf16>) -> tensor<4x1x7xf16>
  %exp = bp.exp %below : (tensor<4x1x7xf16>) -> tensor<4x1x7xf16>
  %sum = bp.reduce %exp {kind = "sum", axes = array<i64: 2>, keep = true} : (tensor<4x1x7xf16>) -> tensor<4x1x1xf16>
  %sums = bp.broadcast %sum {dims = #bp.dims<["4", "1", "7"]>, axes = array<i64: 0, 1, 2>} : (tensor<4x1x1xf16>) -> tensor<4x1x7xf16>
  %w = bp.div %exp, %sums : (tensor<4x1x7xf16>, tensor<4x1x7xf16>) -> tensor<4x1x7xf16>
  %r = bp.matmul %w, %v : (tensor<4x1x7xf16>, tensor<4x7x8xf16>) -> tensor<4x1x8xf16>
  return %r : tensor<4x1x8xf16>
}

// -----

// Heads that share keys are put together for the products alone. What says
// which positions a row sees is computed in the attention, from a copy of its
// own: it is a result too.
// CHECK-LABEL: func.func @main
// CHECK: call @attention{{.*}}(%{{.*}}, %arg1, %arg2) : (tensor<2x2x10x16xf32>, tensor<2x2x7x16xf32>, tensor<2x2x7x8xf32>)
// CHECK-NOT: call
// CHECK: call @compare
// CHECK: func.func @attention
// CHECK: bp.iota
// CHECK: bp.compare
// CHECK: bp.select
// APART-LABEL: func.func @main
// APART-NOT: call @attention
// APART: return
func.func @main(%q: tensor<2x4x5x16xf32>, %k: tensor<2x2x7x16xf32>, %v: tensor<2x2x7x8xf32>) -> (tensor<2x4x5x8xf32>, tensor<5x7xi1>) {
  %qs = bp.reshape %q {dims = #bp.dims<["2", "2", "10", "16"]>} : (tensor<2x4x5x16xf32>) -> tensor<2x2x10x16xf32>
  %xs = bp.matmul %qs, %k {transpose_b = true} : (tensor<2x2x10x16xf32>, tensor<2x2x7x16xf32>) -> tensor<2x2x10x7xf32>
  %x = bp.reshape %xs {dims = #bp.dims<["2", "4", "5", "7"]>} : (tensor<2x2x10x7xf32>) -> tensor<2x4x5x7xf32>
  %i = bp.iota {dtype = i64, dims = #bp.dims<["5", "7"]>, axis = 0} : () -> tensor<5x7xi64>
  %j = bp.iota {dtype = i64, dims = #bp.dims<["5", "7"]>, axis = 1} : () -> tensor<5x7xi64>
  %seen = bp.compare %j, %i {direction = "le"} : (tensor<5x7xi64>, tensor<5x7xi64>) -> tensor<5x7xi1>
  %sees = bp.broadcast %seen {dims = #bp.dims<["2", "4", "5", "7"]>, axes = array<i64: 2, 3>} : (tensor<5x7xi1>) -> tensor<2x4x5x7xi1>
  %inf = bp.constant {dims = #bp.dims<["2", "4", "5", "7"]>, dtype = f32, value = dense<0xFF800000> : tensor<2x4x5x7xf32>} : () -> tensor<2x4x5x7xf32>
  %y = bp.select %sees, %x, %inf : (tensor<2x4x5x7xi1>, tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %top = bp.reduce %y {kind = "max", axes = array<i64: 3>, keep = true} : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x1xf32>
  %tops = bp.broadcast %top {dims = #bp.dims<["2", "4", "5", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x5x1xf32>) -> tensor<2x4x5x7xf32>
  %below = bp.sub %y, %tops : (tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %exp = bp.exp %below : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %sum = bp.reduce %exp {kind = "sum", axes = array<i64: 3>, keep = true} : (tensor<2x4x5x7xf32>) -> tensor<2x4x5x1xf32>
  %sums = bp.broadcast %sum {dims = #bp.dims<["2", "4", "5", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x5x1xf32>) -> tensor<2x4x5x7xf32>
  %w = bp.div %exp, %sums : (tensor<2x4x5x7xf32>, tensor<2x4x5x7xf32>) -> tensor<2x4x5x7xf32>
  %ws = bp.reshape %w {dims = #bp.dims<["2", "2", "10", "7"]>} : (tensor<2x4x5x7xf32>) -> tensor<2x2x10x7xf32>
  %rs = bp.matmul %ws, %v : (tensor<2x2x10x7xf32>, tensor<2x2x7x8xf32>) -> tensor<2x2x10x8xf32>
  %r = bp.reshape %rs {dims = #bp.dims<["2", "4", "5", "8"]>} : (tensor<2x2x10x8xf32>) -> tensor<2x4x5x8xf32>
  return %r, %seen : tensor<2x4x5x8xf32>, tensor<5x7xi1>
}

// -----

// Operands that are widened for the products, and the result that is rounded,
// are read and written narrow.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @attention_0(%arg0, %arg1, %arg2) : (tensor<4x5x16xf16>
// CHECK-NEXT: return
// APART-LABEL: func.func @main
// APART-COUNT-3: call @cast
func.func @main(%q: tensor<4x5x16xf16>, %k: tensor<4x7x16xf16>, %v: tensor<4x7x8xf16>) -> tensor<4x5x8xf16> {
  %qw = bp.cast %q {dtype = f32} : (tensor<4x5x16xf16>) -> tensor<4x5x16xf32>
  %kw = bp.cast %k {dtype = f32} : (tensor<4x7x16xf16>) -> tensor<4x7x16xf32>
  %vw = bp.cast %v {dtype = f32} : (tensor<4x7x8xf16>) -> tensor<4x7x8xf32>
  %x = bp.matmul %qw, %kw {transpose_b = true} : (tensor<4x5x16xf32>, tensor<4x7x16xf32>) -> tensor<4x5x7xf32>
  %top = bp.reduce %x {kind = "max", axes = array<i64: 2>, keep = true} : (tensor<4x5x7xf32>) -> tensor<4x5x1xf32>
  %tops = bp.broadcast %top {dims = #bp.dims<["4", "5", "7"]>, axes = array<i64: 0, 1, 2>} : (tensor<4x5x1xf32>) -> tensor<4x5x7xf32>
  %below = bp.sub %x, %tops : (tensor<4x5x7xf32>, tensor<4x5x7xf32>) -> tensor<4x5x7xf32>
  %exp = bp.exp %below : (tensor<4x5x7xf32>) -> tensor<4x5x7xf32>
  %sum = bp.reduce %exp {kind = "sum", axes = array<i64: 2>, keep = true} : (tensor<4x5x7xf32>) -> tensor<4x5x1xf32>
  %sums = bp.broadcast %sum {dims = #bp.dims<["4", "5", "7"]>, axes = array<i64: 0, 1, 2>} : (tensor<4x5x1xf32>) -> tensor<4x5x7xf32>
  %w = bp.div %exp, %sums : (tensor<4x5x7xf32>, tensor<4x5x7xf32>) -> tensor<4x5x7xf32>
  %r = bp.matmul %w, %vw : (tensor<4x5x7xf32>, tensor<4x7x8xf32>) -> tensor<4x5x8xf32>
  %n = bp.cast %r {dtype = f16} : (tensor<4x5x8xf32>) -> tensor<4x5x8xf16>
  return %n : tensor<4x5x8xf16>
}

// -----

// One row of heads that share all keys: a reshape between the products moves
// axes of one element alone.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @attention
// CHECK-NEXT: return
// APART-LABEL: func.func @main
// APART-NOT: call @attention
// APART: return
func.func @main(%q: tensor<1x1x4x16xf16>, %k: tensor<1x1x7x16xf16>, %v: tensor<1x1x7x8xf16>) -> tensor<1x1x4x8xf16> {
  %xs = bp.matmul %q, %k {transpose_b = true} : (tensor<1x1x4x16xf16>, tensor<1x1x7x16xf16>) -> tensor<1x1x4x7xf16>
  %x = bp.reshape %xs {dims = #bp.dims<["1", "4", "1", "7"]>} : (tensor<1x1x4x7xf16>) -> tensor<1x4x1x7xf16>
  %top = bp.reduce %x {kind = "max", axes = array<i64: 3>, keep = true} : (tensor<1x4x1x7xf16>) -> tensor<1x4x1x1xf16>
  %tops = bp.broadcast %top {dims = #bp.dims<["1", "4", "1", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<1x4x1x1xf16>) -> tensor<1x4x1x7xf16>
  %below = bp.sub %x, %tops : (tensor<1x4x1x7xf16>, tensor<1x4x1x7xf16>) -> tensor<1x4x1x7xf16>
  %exp = bp.exp %below : (tensor<1x4x1x7xf16>) -> tensor<1x4x1x7xf16>
  %sum = bp.reduce %exp {kind = "sum", axes = array<i64: 3>, keep = true} : (tensor<1x4x1x7xf16>) -> tensor<1x4x1x1xf16>
  %sums = bp.broadcast %sum {dims = #bp.dims<["1", "4", "1", "7"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<1x4x1x1xf16>) -> tensor<1x4x1x7xf16>
  %ws = bp.div %exp, %sums : (tensor<1x4x1x7xf16>, tensor<1x4x1x7xf16>) -> tensor<1x4x1x7xf16>
  %w = bp.reshape %ws {dims = #bp.dims<["1", "1", "4", "7"]>} : (tensor<1x4x1x7xf16>) -> tensor<1x1x4x7xf16>
  %r = bp.matmul %w, %v : (tensor<1x1x4x7xf16>, tensor<1x1x7x8xf16>) -> tensor<1x1x4x8xf16>
  return %r : tensor<1x1x4x8xf16>
}
