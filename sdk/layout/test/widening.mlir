// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --split-input-file --bp-choose-layouts=fusion=37 --bp-form-dispatches=fusion=37 | FileCheck %s
// RUN: bp-opt %s --split-input-file --bp-choose-layouts=fusion=5 --bp-form-dispatches=fusion=5 | FileCheck %s --check-prefix=APART

// Bytes are widened by the product that reads them.
// CHECK: call @matmul_0({{.*}}) : (tensor<4x6xi8>, tensor<6x8xui8>)
// CHECK-NOT: call
// APART: "cast | matmul: the target widens no factors"
// APART: call @cast_0
func.func @main(%x: tensor<4x6xi8>, %w: tensor<6x8xui8>) -> tensor<4x8xi32> {
  %0 = bp.cast %x {dtype = i32} : (tensor<4x6xi8>) -> tensor<4x6xi32>
  %1 = bp.cast %w {dtype = i32} : (tensor<6x8xui8>) -> tensor<6x8xi32>
  %2 = bp.matmul %0, %1 : (tensor<4x6xi32>, tensor<6x8xi32>) -> tensor<4x8xi32>
  return %2 : tensor<4x8xi32>
}

// -----

// A difference from 128 fits a byte, one from 127 does not.
// CHECK-DAG: call @cast_{{.}}({{.*}}) : (tensor<4x6xui8>) -> tensor<4x6xi8>
// CHECK-DAG: call @cast_{{.}}({{.*}}) : (tensor<6x8xui8>) -> tensor<6x8xi32>
// CHECK: call @matmul_2({{.*}}) : (tensor<4x6xi8>, tensor<6x8xi32>)
// APART: call @cast_0({{.*}}) : (tensor<4x6xui8>) -> tensor<4x6xi32>
func.func @main(%x: tensor<4x6xui8>, %w: tensor<6x8xui8>) -> tensor<4x8xi32> {
  %z = bp.constant {dims = #bp.dims<["4", "6"]>, dtype = i32, value = dense<128> : tensor<4x6xi32>} : () -> tensor<4x6xi32>
  %y = bp.constant {dims = #bp.dims<["6", "8"]>, dtype = i32, value = dense<127> : tensor<6x8xi32>} : () -> tensor<6x8xi32>
  %0 = bp.cast %x {dtype = i32} : (tensor<4x6xui8>) -> tensor<4x6xi32>
  %1 = bp.cast %w {dtype = i32} : (tensor<6x8xui8>) -> tensor<6x8xi32>
  %2 = bp.sub %0, %z : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>
  %3 = bp.sub %1, %y : (tensor<6x8xi32>, tensor<6x8xi32>) -> tensor<6x8xi32>
  %4 = bp.matmul %2, %3 : (tensor<4x6xi32>, tensor<6x8xi32>) -> tensor<4x8xi32>
  return %4 : tensor<4x8xi32>
}

// -----

// What others read too stays an i32 for all.
// CHECK: call @cast_0({{.*}}) : (tensor<4x6xi8>) -> tensor<4x6xi32>
// CHECK: call @matmul_2({{.*}}) : (tensor<4x6xi32>,
func.func @main(%x: tensor<4x6xi8>, %w: tensor<6x8xi32>) -> (tensor<4x8xi32>, tensor<6x4xi32>) {
  %0 = bp.cast %x {dtype = i32} : (tensor<4x6xi8>) -> tensor<4x6xi32>
  %1 = bp.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<4x6xi32>) -> tensor<6x4xi32>
  %2 = bp.matmul %0, %w : (tensor<4x6xi32>, tensor<6x8xi32>) -> tensor<4x8xi32>
  return %2, %1 : tensor<4x8xi32>, tensor<6x4xi32>
}
