// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-lower-to-linalg --split-input-file | FileCheck %s

// Dims are matched group by group, also symbolic ones; the producer computes
// into the destination in its own shape.
// CHECK-LABEL: @merge
// CHECK: %[[OUT:.*]] = tensor.expand_shape %arg1 {{\[\[}}0], [1, 2]] output_shape [%arg2, 4, 6] : tensor<?x24xf32> into tensor<?x4x6xf32>
// CHECK: %[[R:.*]] = linalg.generic
// CHECK-SAME: outs(%[[OUT]]
// CHECK: %[[C:.*]] = tensor.collapse_shape %[[R]] {{\[\[}}0], [1, 2]]
// CHECK: return %[[C]]
func.func @merge(%x: tensor<?x4x6xf32, #bp.dims<["n", "4", "6"]>>) -> tensor<?x24xf32, #bp.dims<["n", "24"]>> attributes {bp.symbols = ["n"]} {
  %0 = bp.neg %x : (tensor<?x4x6xf32, #bp.dims<["n", "4", "6"]>>) -> tensor<?x4x6xf32, #bp.dims<["n", "4", "6"]>>
  %1 = bp.reshape %0 {dims = #bp.dims<["n", "24"]>} : (tensor<?x4x6xf32, #bp.dims<["n", "4", "6"]>>) -> tensor<?x24xf32, #bp.dims<["n", "24"]>>
  return %1 : tensor<?x24xf32, #bp.dims<["n", "24"]>>
}

// -----

// CHECK-LABEL: @split
// CHECK: tensor.expand_shape %arg0 {{\[\[}}0, 1]] output_shape [%arg2, 4] : tensor<?xf32> into tensor<?x4xf32>
func.func @split(%x: tensor<?xf32, #bp.dims<["4*n"]>>) -> tensor<?x4xf32, #bp.dims<["n", "4"]>> attributes {bp.symbols = ["n"]} {
  %0 = bp.reshape %x {dims = #bp.dims<["n", "4"]>} : (tensor<?xf32, #bp.dims<["4*n"]>>) -> tensor<?x4xf32, #bp.dims<["n", "4"]>>
  %1 = bp.neg %0 : (tensor<?x4xf32, #bp.dims<["n", "4"]>>) -> tensor<?x4xf32, #bp.dims<["n", "4"]>>
  return %1 : tensor<?x4xf32, #bp.dims<["n", "4"]>>
}

// -----

// Without groups it goes through one dim.
// CHECK-LABEL: @regroup
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1]] : tensor<4x6xf32> into tensor<24xf32>
// CHECK: tensor.expand_shape %[[FLAT]] {{\[\[}}0, 1]] output_shape [3, 8]
func.func @regroup(%x: tensor<4x6xf32>) -> tensor<3x8xf32> {
  %0 = bp.reshape %x {dims = #bp.dims<["3", "8"]>} : (tensor<4x6xf32>) -> tensor<3x8xf32>
  %1 = bp.neg %0 : (tensor<3x8xf32>) -> tensor<3x8xf32>
  return %1 : tensor<3x8xf32>
}

// -----

// Axes of size 1 come and go as indexing maps.
// CHECK: #[[MAP:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-LABEL: @unit
// CHECK-NOT: expand_shape
// CHECK: linalg.generic {indexing_maps = [#[[MAP]],
func.func @unit(%x: tensor<4x6xf32>, %y: tensor<4x1x6xf32>) -> tensor<4x1x6xf32> {
  %0 = bp.reshape %x {dims = #bp.dims<["4", "1", "6"]>} : (tensor<4x6xf32>) -> tensor<4x1x6xf32>
  %1 = bp.add %0, %y : (tensor<4x1x6xf32>, tensor<4x1x6xf32>) -> tensor<4x1x6xf32>
  return %1 : tensor<4x1x6xf32>
}
