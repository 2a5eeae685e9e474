// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --split-input-file --bp-forward-variables | FileCheck %s

// The first read gets the old value, the others what was written before them;
// of two writes the last one stays.
// CHECK-LABEL: func.func @main
// CHECK: %[[OLD:.*]] = bp.variable_read
// CHECK-NEXT: %[[A:.*]] = bp.add %[[OLD]], %arg0
// CHECK-NEXT: %[[B:.*]] = bp.mul %[[A]], %arg0
// CHECK-NEXT: bp.variable_write %[[B]]
// CHECK-NEXT: return %[[B]]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = bp.variable_read {variable = "v", dtype = f32, dims = #bp.dims<["4"]>} : () -> tensor<4xf32>
  %1 = bp.add %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  bp.variable_write %1 {variable = "v"} : (tensor<4xf32>) -> ()
  %2 = bp.variable_read {variable = "v", dtype = f32, dims = #bp.dims<["4"]>} : () -> tensor<4xf32>
  %3 = bp.mul %2, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  bp.variable_write %3 {variable = "v"} : (tensor<4xf32>) -> ()
  %4 = bp.variable_read {variable = "v", dtype = f32, dims = #bp.dims<["4"]>} : () -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

// Another variable is another matter.
// CHECK-LABEL: func.func @main
// CHECK: bp.variable_write
// CHECK-NEXT: %[[W:.*]] = bp.variable_read
// CHECK-NEXT: return %[[W]]
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  bp.variable_write %x {variable = "v"} : (tensor<4xf32>) -> ()
  %0 = bp.variable_read {variable = "w", dtype = f32, dims = #bp.dims<["4"]>} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
