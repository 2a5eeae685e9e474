// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --split-input-file --bp-choose-layouts --bp-form-dispatches | FileCheck %s

// A weight that is known to be finite is marked; a reshape hides nothing.
// CHECK-LABEL: func.func @main
// CHECK-LABEL: func.func @conv_transpose_1
// CHECK: bp.conv_transpose {{.*}}finite_weight = true
func.func @main(%x: tensor<1x1x5xf32>) -> tensor<1x1x6xf32> {
  %c = bp.constant {dims = #bp.dims<["2"]>, dtype = f32, value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> tensor<2xf32>
  %w = bp.reshape %c {dims = #bp.dims<["1", "1", "2"]>} : (tensor<2xf32>) -> tensor<1x1x2xf32>
  %0 = bp.conv_transpose %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, output_padding = array<i64: 0>, groups = 1} : (tensor<1x1x5xf32>, tensor<1x1x2xf32>) -> tensor<1x1x6xf32>
  return %0 : tensor<1x1x6xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-NOT: finite_weight = true
func.func @main(%x: tensor<1x1x5xf32>, %v: tensor<1x1x2xf32>) -> (tensor<1x1x6xf32>, tensor<1x1x6xf32>) {
  %w = bp.constant {dims = #bp.dims<["1", "1", "2"]>, dtype = f32, value = dense<[[[1.0, 0x7FC00000]]]> : tensor<1x1x2xf32>} : () -> tensor<1x1x2xf32>
  %0 = bp.conv_transpose %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, output_padding = array<i64: 0>, groups = 1} : (tensor<1x1x5xf32>, tensor<1x1x2xf32>) -> tensor<1x1x6xf32>
  %1 = bp.conv_transpose %x, %v {strides = array<i64: 1>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, output_padding = array<i64: 0>, groups = 1} : (tensor<1x1x5xf32>, tensor<1x1x2xf32>) -> tensor<1x1x6xf32>
  return %0, %1 : tensor<1x1x6xf32>, tensor<1x1x6xf32>
}
