// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-lower-to-linalg --split-input-file | FileCheck %s

// An input that is a result, and a result given twice, are copied.
// CHECK-LABEL: @copies
// CHECK: %[[A:.*]] = linalg.generic {{.*}} outs(%arg1
// CHECK: math.exp
// CHECK: %[[B:.*]] = linalg.generic {{.*}} ins(%[[A]] {{.*}}) outs(%arg2
// CHECK: %[[C:.*]] = linalg.generic {{.*}} ins(%arg0 {{.*}}) outs(%arg3
// CHECK: return %[[A]], %[[B]], %[[C]]
func.func @copies(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = bp.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %0, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Equal accumulators are not shared between destinations.
// CHECK-LABEL: @two_sums
// CHECK-DAG: linalg.fill {{.*}} outs(%arg2
// CHECK-DAG: linalg.fill {{.*}} outs(%arg3
// CHECK-NOT: linalg.fill
func.func @two_sums(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = bp.reduce %x {kind = "sum", axes = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4xf32>
  %1 = bp.reduce %y {kind = "sum", axes = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A value that is both used and returned is computed once, in place.
// CHECK-LABEL: @used_and_returned
// CHECK: %[[A:.*]]:2 = linalg.generic {{.*}} outs(%arg1, %arg2
// CHECK: math.exp
// CHECK: math.sqrt
// CHECK: return %[[A]]#0, %[[A]]#1
func.func @used_and_returned(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = bp.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = bp.sqrt %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
