// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-lower-to-linalg --split-input-file | FileCheck %s

// Both ends of a softmax are marked, also behind a fused op, and its powers.
// CHECK-LABEL: @softmax
// CHECK: arith.maximumf {{.*}} {bp.numbers}
// CHECK: math.exp {{.*}} {bp.not_positive}
// CHECK: arith.divf {{.*}} {bp.share}
// CHECK-NEXT: arith.negf
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = bp.reduce %x {axes = array<i64: 1>, keep = true, kind = "max"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %1 = bp.broadcast %0 {axes = array<i64: 0, 1>, dims = #bp.dims<["4", "8"]>} : (tensor<4x1xf32>) -> tensor<4x8xf32>
  %2 = bp.sub %x, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = bp.exp %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = bp.reduce %3 {axes = array<i64: 1>, keep = true, kind = "sum"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %5 = bp.broadcast %4 {axes = array<i64: 0, 1>, dims = #bp.dims<["4", "8"]>} : (tensor<4x1xf32>) -> tensor<4x8xf32>
  %6 = bp.div %3, %5 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %7 = bp.neg %6 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %7 : tensor<4x8xf32>
}

// -----

// Who sees the powers sees whether NaN won: the maximum is that of all.
// CHECK-LABEL: @powers_are_a_result
// CHECK: arith.maximumf %{{[a-z_0-9]*}}, %{{[a-z_0-9]*}} : f32
// CHECK: arith.divf {{.*}} {bp.share}
func.func @powers_are_a_result(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = bp.reduce %x {axes = array<i64: 1>, keep = true, kind = "max"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %1 = bp.broadcast %0 {axes = array<i64: 0, 1>, dims = #bp.dims<["4", "8"]>} : (tensor<4x1xf32>) -> tensor<4x8xf32>
  %2 = bp.sub %x, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = bp.exp %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = bp.reduce %3 {axes = array<i64: 1>, keep = true, kind = "sum"} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %5 = bp.broadcast %4 {axes = array<i64: 0, 1>, dims = #bp.dims<["4", "8"]>} : (tensor<4x1xf32>) -> tensor<4x8xf32>
  %6 = bp.div %3, %5 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %6, %3 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Sums along another axis, or of other powers, may be anything.
// CHECK-LABEL: @other_sums
// CHECK-NOT: bp.share
// CHECK-NOT: bp.numbers
func.func @other_sums(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = bp.reduce %x {axes = array<i64: 1>, keep = true, kind = "max"} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %1 = bp.broadcast %0 {axes = array<i64: 0, 1>, dims = #bp.dims<["8", "8"]>} : (tensor<8x1xf32>) -> tensor<8x8xf32>
  %2 = bp.sub %x, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = bp.exp %2 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = bp.reduce %3 {axes = array<i64: 0>, keep = true, kind = "sum"} : (tensor<8x8xf32>) -> tensor<1x8xf32>
  %5 = bp.broadcast %4 {axes = array<i64: 0, 1>, dims = #bp.dims<["8", "8"]>} : (tensor<1x8xf32>) -> tensor<8x8xf32>
  %6 = bp.div %3, %5 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %7 = bp.exp %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %8 = bp.reduce %7 {axes = array<i64: 1>, keep = true, kind = "sum"} : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %9 = bp.broadcast %8 {axes = array<i64: 0, 1>, dims = #bp.dims<["8", "8"]>} : (tensor<8x1xf32>) -> tensor<8x8xf32>
  %10 = bp.div %7, %9 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %6, %10 : tensor<8x8xf32>, tensor<8x8xf32>
}
