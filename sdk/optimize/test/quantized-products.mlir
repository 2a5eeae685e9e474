// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --split-input-file --bp-quantized-products | FileCheck %s

// A product of dequantised rows and a weight with a scale per channel.
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[X:.*]] = bp.sub {{.*}} : (tensor<4x6xi32>, tensor<4x6xi32>)
// CHECK-DAG: %[[W:.*]] = bp.cast {{.*}} : (tensor<6x8xi8>) -> tensor<6x8xi32>
// CHECK: %[[SUMS:.*]] = bp.matmul %[[X]], %[[W]] : {{.*}} -> tensor<4x8xi32>
// CHECK: %[[NUMBERS:.*]] = bp.cast %[[SUMS]] {{.*}} -> tensor<4x8xf32>
// CHECK: %[[BOTH:.*]] = bp.mul {{.*}} : (tensor<8xf32>, tensor<8xf32>)
// CHECK: %[[SCALES:.*]] = bp.broadcast %[[BOTH]] {axes = array<i64: 1>
// CHECK: %[[Y:.*]] = bp.mul %[[NUMBERS]], %[[SCALES]]
// CHECK: return %[[Y]]
func.func @main(%x: tensor<4x6xui8>) -> tensor<4x8xf32> {
  %z = bp.constant {dims = #bp.dims<["4", "6"]>, dtype = i32, value = dense<3> : tensor<4x6xi32>} : () -> tensor<4x6xi32>
  %s = bp.constant {dims = #bp.dims<["4", "6"]>, dtype = f32, value = dense<0.5> : tensor<4x6xf32>} : () -> tensor<4x6xf32>
  %w = bp.weight {id = "00000000000000000000000000000001", dtype = i8, dims = #bp.dims<["6", "8"]>} : () -> tensor<6x8xi8>
  %t = bp.weight {id = "00000000000000000000000000000002", dtype = f32, dims = #bp.dims<["8"]>} : () -> tensor<8xf32>
  %ts = bp.broadcast %t {dims = #bp.dims<["6", "8"]>, axes = array<i64: 1>} : (tensor<8xf32>) -> tensor<6x8xf32>
  %0 = bp.cast %x {dtype = i32} : (tensor<4x6xui8>) -> tensor<4x6xi32>
  %1 = bp.sub %0, %z : (tensor<4x6xi32>, tensor<4x6xi32>) -> tensor<4x6xi32>
  %2 = bp.cast %1 {dtype = f32} : (tensor<4x6xi32>) -> tensor<4x6xf32>
  %3 = bp.mul %2, %s : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = bp.cast %w {dtype = i32} : (tensor<6x8xi8>) -> tensor<6x8xi32>
  %5 = bp.cast %4 {dtype = f32} : (tensor<6x8xi32>) -> tensor<6x8xf32>
  %6 = bp.mul %5, %ts : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %7 = bp.matmul %3, %6 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %7 : tensor<4x8xf32>
}

// -----

// A scale per row of the weight is within the sums, and stays there.
// CHECK-LABEL: func.func @main
// CHECK: bp.matmul {{.*}} : (tensor<4x6xf32>, tensor<6x8xf32>)
func.func @main(%x: tensor<4x6xui8>) -> tensor<4x8xf32> {
  %s = bp.constant {dims = #bp.dims<["4", "6"]>, dtype = f32, value = dense<0.5> : tensor<4x6xf32>} : () -> tensor<4x6xf32>
  %w = bp.weight {id = "00000000000000000000000000000001", dtype = i8, dims = #bp.dims<["6", "8"]>} : () -> tensor<6x8xi8>
  %t = bp.weight {id = "00000000000000000000000000000002", dtype = f32, dims = #bp.dims<["6"]>} : () -> tensor<6xf32>
  %ts = bp.broadcast %t {dims = #bp.dims<["6", "8"]>, axes = array<i64: 0>} : (tensor<6xf32>) -> tensor<6x8xf32>
  %0 = bp.cast %x {dtype = i32} : (tensor<4x6xui8>) -> tensor<4x6xi32>
  %1 = bp.cast %0 {dtype = f32} : (tensor<4x6xi32>) -> tensor<4x6xf32>
  %2 = bp.mul %1, %s : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = bp.cast %w {dtype = i32} : (tensor<6x8xi8>) -> tensor<6x8xi32>
  %4 = bp.cast %3 {dtype = f32} : (tensor<6x8xi32>) -> tensor<6x8xf32>
  %5 = bp.mul %4, %ts : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %6 = bp.matmul %2, %5 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %6 : tensor<4x8xf32>
}

// -----

// Sums of more products than an i32 has room for stay as they are.
// CHECK-LABEL: func.func @main
// CHECK: bp.matmul {{.*}} : (tensor<4x40000xf32>, tensor<40000x8xf32>)
func.func @main(%x: tensor<4x40000xui8>) -> tensor<4x8xf32> {
  %s = bp.constant {dims = #bp.dims<["4", "40000"]>, dtype = f32, value = dense<0.5> : tensor<f32>} : () -> tensor<4x40000xf32>
  %w = bp.weight {id = "00000000000000000000000000000001", dtype = i8, dims = #bp.dims<["40000", "8"]>} : () -> tensor<40000x8xi8>
  %t = bp.weight {id = "00000000000000000000000000000002", dtype = f32, dims = #bp.dims<["8"]>} : () -> tensor<8xf32>
  %ts = bp.broadcast %t {dims = #bp.dims<["40000", "8"]>, axes = array<i64: 1>} : (tensor<8xf32>) -> tensor<40000x8xf32>
  %0 = bp.cast %x {dtype = i32} : (tensor<4x40000xui8>) -> tensor<4x40000xi32>
  %1 = bp.cast %0 {dtype = f32} : (tensor<4x40000xi32>) -> tensor<4x40000xf32>
  %2 = bp.mul %1, %s : (tensor<4x40000xf32>, tensor<4x40000xf32>) -> tensor<4x40000xf32>
  %3 = bp.cast %w {dtype = i32} : (tensor<40000x8xi8>) -> tensor<40000x8xi32>
  %4 = bp.cast %3 {dtype = f32} : (tensor<40000x8xi32>) -> tensor<40000x8xf32>
  %5 = bp.mul %4, %ts : (tensor<40000x8xf32>, tensor<40000x8xf32>) -> tensor<40000x8xf32>
  %6 = bp.matmul %2, %5 : (tensor<4x40000xf32>, tensor<40000x8xf32>) -> tensor<4x8xf32>
  return %6 : tensor<4x8xf32>
}
