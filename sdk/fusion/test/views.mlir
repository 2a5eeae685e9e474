// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --split-input-file --bp-form-dispatches=fusion=1025 | FileCheck %s
// RUN: bp-opt %s --split-input-file --bp-form-dispatches=fusion=1 | FileCheck %s --check-prefix=PLAIN

// Slices of rows, as the gates of a recurrent cell are, are operands.
// CHECK-LABEL: func.func @main
// CHECK: call @slice_0
// CHECK-NOT: call
// CHECK: func.func @slice_0
// CHECK-NEXT: bp.slice
// CHECK-NEXT: bp.slice
// CHECK-NEXT: bp.mul
// PLAIN-LABEL: func.func @main
// PLAIN-COUNT-3: call
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %0 = bp.slice %x {starts = #bp.dims<["0", "0"]>, sizes = #bp.dims<["4", "4"]>, strides = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %1 = bp.slice %x {starts = #bp.dims<["0", "4"]>, sizes = #bp.dims<["4", "4"]>, strides = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %2 = bp.mul %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// A transpose that keeps rows whole is an operand of a product, and of an
// elementwise op.
// CHECK-LABEL: func.func @main
// CHECK: call @matmul_0
// CHECK-NOT: call
// CHECK: func.func @matmul_0
// CHECK-NEXT: bp.transpose
// CHECK-NEXT: bp.matmul
func.func @main(%x: tensor<4x2x3xf32>, %w: tensor<2x3x5xf32>) -> tensor<2x4x5xf32> {
  %0 = bp.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x2x3xf32>) -> tensor<2x4x3xf32>
  %1 = bp.matmul %0, %w : (tensor<2x4x3xf32>, tensor<2x3x5xf32>) -> tensor<2x4x5xf32>
  return %1 : tensor<2x4x5xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK: call @transpose_0
// CHECK-NOT: call
// CHECK: func.func @transpose_0
// CHECK-NEXT: bp.transpose
// CHECK-NEXT: bp.neg
func.func @main(%x: tensor<4x2x3xf32>) -> tensor<2x4x3xf32> {
  %0 = bp.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x2x3xf32>) -> tensor<2x4x3xf32>
  %1 = bp.neg %0 : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return %1 : tensor<2x4x3xf32>
}

// -----

// Elements of a row that are not neighbours are moved by themselves.
// CHECK-LABEL: func.func @main
// CHECK: call @transpose_0
// CHECK: call @slice_1
// CHECK: call @add_2
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = bp.transpose %y {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = bp.slice %x {starts = #bp.dims<["0", "0"]>, sizes = #bp.dims<["4", "4"]>, strides = array<i64: 1, 2>} : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %2 = bp.add %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// A last axis of one element makes no rows of what is before it.
// CHECK-LABEL: func.func @main
// CHECK: call @transpose_0
// CHECK: call @matmul_1
func.func @main(%x: tensor<4x3x1xf32>, %w: tensor<3x1x5xf32>) -> tensor<3x4x5xf32> {
  %0 = bp.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x3x1xf32>) -> tensor<3x4x1xf32>
  %1 = bp.matmul %0, %w : (tensor<3x4x1xf32>, tensor<3x1x5xf32>) -> tensor<3x4x5xf32>
  return %1 : tensor<3x4x5xf32>
}

// -----

// An image is read many times, and in its own order.
// CHECK-LABEL: func.func @main
// CHECK: call @transpose_0
// CHECK: call @conv_1
func.func @main(%x: tensor<1x8x4x8xf32>, %w: tensor<2x4x3x3xf32>) -> tensor<1x2x6x6xf32> {
  %0 = bp.transpose %x {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x8x4x8xf32>) -> tensor<1x4x8x8xf32>
  %1 = bp.conv %0, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>} : (tensor<1x4x8x8xf32>, tensor<2x4x3x3xf32>) -> tensor<1x2x6x6xf32>
  return %1 : tensor<1x2x6x6xf32>
}
