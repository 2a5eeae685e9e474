// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-fold-scales | FileCheck %s

// (conv(x, w) + b) * s + t: the factor goes into weight and bias.
// CHECK-LABEL: @batch_norm
// CHECK: %[[W:.*]] = bp.weight {{.*}} : () -> tensor<4x3x1x1xf32>
// CHECK: %[[S:.*]] = bp.broadcast {{.*}} -> tensor<4x3x1x1xf32>
// CHECK: %[[WS:.*]] = bp.mul %[[W]], %[[S]]
// CHECK: %[[Y:.*]] = bp.conv %arg0, %[[WS]]
// CHECK-NOT: bp.mul %[[Y]]
// CHECK: %[[OUT:.*]] = bp.add %[[Y]]
// CHECK: return %[[OUT]]
func.func @batch_norm(%x: tensor<1x3x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %w = bp.weight {id = "00000000000000000000000000000001", dtype = f32, dims = #bp.dims<["4", "3", "1", "1"]>} : () -> tensor<4x3x1x1xf32>
  %b = bp.weight {id = "00000000000000000000000000000002", dtype = f32, dims = #bp.dims<["4"]>} : () -> tensor<4xf32>
  %s = bp.weight {id = "00000000000000000000000000000003", dtype = f32, dims = #bp.dims<["1", "4", "1", "1"]>} : () -> tensor<1x4x1x1xf32>
  %t = bp.weight {id = "00000000000000000000000000000004", dtype = f32, dims = #bp.dims<["4"]>} : () -> tensor<4xf32>
  %0 = bp.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>} : (tensor<1x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = bp.broadcast %b {dims = #bp.dims<["1", "4", "8", "8"]>, axes = array<i64: 1>} : (tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %2 = bp.add %0, %1 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %3 = bp.broadcast %s {dims = #bp.dims<["1", "4", "8", "8"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<1x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %4 = bp.mul %2, %3 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %5 = bp.broadcast %t {dims = #bp.dims<["1", "4", "8", "8"]>, axes = array<i64: 1>} : (tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %6 = bp.add %4, %5 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  return %6 : tensor<1x4x8x8xf32>
}

// A factor that changes along another axis stays.
// CHECK-LABEL: @not_per_channel
// CHECK: %[[Y:.*]] = bp.matmul
// CHECK: bp.mul %[[Y]]
func.func @not_per_channel(%a: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %w = bp.weight {id = "00000000000000000000000000000001", dtype = f32, dims = #bp.dims<["8", "4"]>} : () -> tensor<8x4xf32>
  %s = bp.weight {id = "00000000000000000000000000000002", dtype = f32, dims = #bp.dims<["4"]>} : () -> tensor<4xf32>
  %0 = bp.matmul %a, %w : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = bp.broadcast %s {dims = #bp.dims<["4", "4"]>, axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<4x4xf32>
  %2 = bp.mul %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}
