// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-table-lookup | FileCheck %s

// exp(one_hot(ids) * w) is computed once for each row of w; ids out of range
// choose a row of zeros.
// CHECK-LABEL: @one_hot
// CHECK-DAG: %[[TABLE:.*]] = bp.concat %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<3x8xf32>, tensor<1x8xf32>) -> tensor<4x8xf32>
// CHECK-DAG: %[[EXP:.*]] = bp.exp %[[TABLE]]
// CHECK-DAG: %[[IDS:.*]] = bp.select {{.*}} -> tensor<?xi32, #bp.dims<["n"]>>
// CHECK: %[[OUT:.*]] = bp.gather %[[EXP]], %[[IDS]]
// CHECK: return %[[OUT]]
func.func @one_hot(%ids: tensor<?x1xi32, #bp.dims<["n", "1"]>>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>> {
  %w = bp.weight {id = "00000000000000000000000000000001", dtype = f32, dims = #bp.dims<["3", "8"]>} : () -> tensor<3x8xf32>
  %count = bp.constant {value = dense<[[0, 1, 2]]> : tensor<1x3xi32>, dtype = i32, dims = #bp.dims<["1", "3"]>} : () -> tensor<1x3xi32>
  %0 = bp.broadcast %ids {dims = #bp.dims<["n", "3"]>, axes = array<i64: 0, 1>} : (tensor<?x1xi32, #bp.dims<["n", "1"]>>) -> tensor<?x3xi32, #bp.dims<["n", "3"]>>
  %1 = bp.broadcast %count {dims = #bp.dims<["n", "3"]>, axes = array<i64: 0, 1>} : (tensor<1x3xi32>) -> tensor<?x3xi32, #bp.dims<["n", "3"]>>
  %2 = bp.compare %0, %1 {direction = "eq"} : (tensor<?x3xi32, #bp.dims<["n", "3"]>>, tensor<?x3xi32, #bp.dims<["n", "3"]>>) -> tensor<?x3xi1, #bp.dims<["n", "3"]>>
  %3 = bp.cast %2 {dtype = f32} : (tensor<?x3xi1, #bp.dims<["n", "3"]>>) -> tensor<?x3xf32, #bp.dims<["n", "3"]>>
  %4 = bp.matmul %3, %w : (tensor<?x3xf32, #bp.dims<["n", "3"]>>, tensor<3x8xf32>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
  %5 = bp.exp %4 : (tensor<?x8xf32, #bp.dims<["n", "8"]>>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
  return %5 : tensor<?x8xf32, #bp.dims<["n", "8"]>>
}

// 0, 2, 1 is no count.
// CHECK-LABEL: @not_one_hot
// CHECK: bp.matmul
func.func @not_one_hot(%ids: tensor<4x1xi32>) -> tensor<4x8xf32> {
  %w = bp.weight {id = "00000000000000000000000000000001", dtype = f32, dims = #bp.dims<["3", "8"]>} : () -> tensor<3x8xf32>
  %count = bp.constant {value = dense<[[0, 2, 1]]> : tensor<1x3xi32>, dtype = i32, dims = #bp.dims<["1", "3"]>} : () -> tensor<1x3xi32>
  %0 = bp.broadcast %ids {dims = #bp.dims<["4", "3"]>, axes = array<i64: 0, 1>} : (tensor<4x1xi32>) -> tensor<4x3xi32>
  %1 = bp.broadcast %count {dims = #bp.dims<["4", "3"]>, axes = array<i64: 0, 1>} : (tensor<1x3xi32>) -> tensor<4x3xi32>
  %2 = bp.compare %0, %1 {direction = "eq"} : (tensor<4x3xi32>, tensor<4x3xi32>) -> tensor<4x3xi1>
  %3 = bp.cast %2 {dtype = f32} : (tensor<4x3xi1>) -> tensor<4x3xf32>
  %4 = bp.matmul %3, %w : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}
