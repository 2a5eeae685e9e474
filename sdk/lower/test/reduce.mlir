// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-lower-to-linalg --split-input-file | FileCheck %s

// CHECK: #[[KEPT:.*]] = affine_map<(d0, d1, d2) -> (d1)>
// CHECK-LABEL: @sum
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[F:.*]] = linalg.fill ins(%[[ZERO]] : f32) outs(%arg1 : tensor<3xf32>)
// CHECK: linalg.generic {{.*}}#[[KEPT]]], iterator_types = ["reduction", "parallel", "reduction"]} ins(%arg0 {{.*}}) outs(%[[F]]
// CHECK: arith.addf %out, %in
func.func @sum(%x: tensor<2x3x4xf32>) -> tensor<3xf32> {
  %0 = bp.reduce %x {kind = "sum", axes = array<i64: 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// An elementwise op whose only user reduces it moves in.
// CHECK-LABEL: @sum_of_squares
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "reduction"]
// CHECK: %[[S:.*]] = arith.mulf %in, %in
// CHECK: arith.addf %out, %[[S]]
// CHECK-NOT: linalg.generic
func.func @sum_of_squares(%x: tensor<3x4xf32>) -> tensor<3xf32> {
  %0 = bp.mul %x, %x : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = bp.reduce %0 {kind = "sum", axes = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// -----

// One with two users does not; the kept axis needs no reshape.
// CHECK: #[[ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: @normalise
// CHECK: %[[E:.*]] = linalg.generic
// CHECK: math.exp
// CHECK: %[[S:.*]] = linalg.generic
// CHECK-SAME: ins(%[[E]]
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[ROW]], #{{.*}}], iterator_types = ["parallel", "parallel"]} ins(%[[E]], %[[S]] : tensor<3x4xf32>, tensor<3xf32>)
func.func @normalise(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %e = bp.exp %x : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %s = bp.reduce %e {kind = "sum", axes = array<i64: 1>, keep = true} : (tensor<3x4xf32>) -> tensor<3x1xf32>
  %b = bp.broadcast %s {dims = #bp.dims<["3", "4"]>, axes = array<i64: 0, 1>} : (tensor<3x1xf32>) -> tensor<3x4xf32>
  %r = bp.div %e, %b : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// -----

// f16 accumulates in f32.
// CHECK-LABEL: @half
// CHECK: linalg.fill {{.*}} outs(%{{.*}} : tensor<3xf32>)
// CHECK: linalg.generic
// CHECK: arith.extf
// CHECK: arith.addf
// CHECK: linalg.generic
// CHECK-SAME: outs(%arg1 : tensor<3xf16>)
// CHECK: arith.truncf
func.func @half(%x: tensor<3x4xf16>) -> tensor<3xf16> {
  %0 = bp.reduce %x {kind = "sum", axes = array<i64: 1>} : (tensor<3x4xf16>) -> tensor<3xf16>
  return %0 : tensor<3xf16>
}

// -----

// CHECK-LABEL: @unsigned_min
// CHECK: arith.constant -1 : i8
// CHECK: arith.minui
func.func @unsigned_min(%x: tensor<3x4xui8>) -> tensor<3xui8> {
  %0 = bp.reduce %x {kind = "min", axes = array<i64: 1>} : (tensor<3x4xui8>) -> tensor<3xui8>
  return %0 : tensor<3xui8>
}

// -----

// CHECK-LABEL: @any
// CHECK: arith.constant 0 : i8
// CHECK: arith.ori %{{.*}} : i8
func.func @any(%x: tensor<3x4xi1>) -> tensor<3xi1> {
  %0 = bp.reduce %x {kind = "or", axes = array<i64: 1>} : (tensor<3x4xi1>) -> tensor<3xi1>
  return %0 : tensor<3xi1>
}

// -----

// NaN wins; of equals the last.
// CHECK-LABEL: @argmax
// CHECK: arith.constant 0xFF800000 : f32
// CHECK: arith.cmpf ole, %{{.*}}, %in
// CHECK: arith.cmpf uno, %in, %in
// CHECK: arith.ori
// CHECK: linalg.index 1
func.func @argmax(%x: tensor<3x4xf32>) -> tensor<3xi64> {
  %0 = bp.arg_reduce %x {kind = "max", axis = 1, last = true} : (tensor<3x4xf32>) -> tensor<3xi64>
  return %0 : tensor<3xi64>
}

// -----

// The first NaN wins; of equals the first.
// CHECK-LABEL: @argmin
// CHECK: %[[BETTER:.*]] = arith.cmpf ult, %in, %[[BEST:.*]] : f32
// CHECK: %[[NUMBER:.*]] = arith.cmpf ord, %[[BEST]], %[[BEST]] : f32
// CHECK: arith.andi %[[BETTER]], %[[NUMBER]]
// CHECK-NOT: arith.cmpf
// CHECK: linalg.index 0
func.func @argmin(%x: tensor<3x4xf32>) -> tensor<4xi64> {
  %0 = bp.arg_reduce %x {kind = "min", axis = 0, last = false} : (tensor<3x4xf32>) -> tensor<4xi64>
  return %0 : tensor<4xi64>
}

// -----

// A long chain of additions for each result accumulates in f64.
// CHECK-LABEL: @outer_sum
// CHECK: linalg.fill {{.*}} outs(%{{.*}} : tensor<4xf64>)
// CHECK: arith.extf %in : f32 to f64
// CHECK: arith.addf {{.*}} : f64
// CHECK: arith.truncf %in : f64 to f32
func.func @outer_sum(%x: tensor<3x4xf32>) -> tensor<4xf32> {
  %0 = bp.reduce %x {kind = "sum", axes = array<i64: 0>} : (tensor<3x4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
