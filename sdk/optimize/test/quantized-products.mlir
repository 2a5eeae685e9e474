// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --split-input-file --bp-quantized-products | FileCheck %s
// RUN: bp-opt %s --split-input-file "--bp-quantized-products=keep-weights" --bp-fold-scales "--bp-outline-constants=keep-bytes" | FileCheck %s --check-prefix=KEEP

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

// -----

// A weight of bytes that f32 is multiplied by stays bytes where that is asked
// for: its scales follow the product, and neither pass that comes next makes
// numbers of it.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = bp.mul {{.*}} : (tensor<6x8xf32>, tensor<6x8xf32>)
// CHECK: bp.matmul %arg0, %[[W]]
// KEEP-LABEL: func.func @main(%arg0: tensor<4x6xf32>)
// KEEP: %[[W:.*]] = bp.weight {{.*}} : () -> tensor<6x8xi8>
// KEEP: %[[WIDE:.*]] = bp.cast %[[W]] {dtype = f32} : (tensor<6x8xi8>) -> tensor<6x8xf32>
// KEEP: %[[SUMS:.*]] = bp.matmul %arg0, %[[WIDE]]
// KEEP: %[[SCALES:.*]] = bp.broadcast {{.*}} {axes = array<i64: 1>
// KEEP: %[[Y:.*]] = bp.mul %[[SUMS]], %[[SCALES]]
// KEEP: return %[[Y]]
func.func @main(%x: tensor<4x6xf32>) -> tensor<4x8xf32> {
  %w = bp.weight {id = "00000000000000000000000000000001", dtype = i8, dims = #bp.dims<["6", "8"]>} : () -> tensor<6x8xi8>
  %t = bp.weight {id = "00000000000000000000000000000002", dtype = f32, dims = #bp.dims<["8"]>} : () -> tensor<8xf32>
  %ts = bp.broadcast %t {dims = #bp.dims<["6", "8"]>, axes = array<i64: 1>} : (tensor<8xf32>) -> tensor<6x8xf32>
  %0 = bp.cast %w {dtype = f32} : (tensor<6x8xi8>) -> tensor<6x8xf32>
  %1 = bp.mul %0, %ts : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %2 = bp.matmul %x, %1 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// Unsigned bytes less 128 are signed ones; less anything else they are none.
// KEEP-LABEL: func.func @main(%arg0: tensor<4x6xf32>)
// KEEP: bp.cast {{.*}} {dtype = f32} : (tensor<6x8xi8>) -> tensor<6x8xf32>
// KEEP: bp.matmul %arg0
// KEEP-NOT: (tensor<6x8xi8>)
func.func @main(%x: tensor<4x6xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %w = bp.weight {id = "00000000000000000000000000000001", dtype = ui8, dims = #bp.dims<["6", "8"]>} : () -> tensor<6x8xui8>
  %s = bp.constant {dims = #bp.dims<["6", "8"]>, dtype = f32, value = dense<0.5> : tensor<6x8xf32>} : () -> tensor<6x8xf32>
  %z = bp.constant {dims = #bp.dims<["6", "8"]>, dtype = i32, value = dense<128> : tensor<6x8xi32>} : () -> tensor<6x8xi32>
  %o = bp.constant {dims = #bp.dims<["6", "8"]>, dtype = i32, value = dense<7> : tensor<6x8xi32>} : () -> tensor<6x8xi32>
  %0 = bp.cast %w {dtype = i32} : (tensor<6x8xui8>) -> tensor<6x8xi32>
  %1 = bp.sub %0, %z : (tensor<6x8xi32>, tensor<6x8xi32>) -> tensor<6x8xi32>
  %2 = bp.cast %1 {dtype = f32} : (tensor<6x8xi32>) -> tensor<6x8xf32>
  %3 = bp.mul %2, %s : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %4 = bp.matmul %x, %3 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  %5 = bp.sub %0, %o : (tensor<6x8xi32>, tensor<6x8xi32>) -> tensor<6x8xi32>
  %6 = bp.cast %5 {dtype = f32} : (tensor<6x8xi32>) -> tensor<6x8xf32>
  %7 = bp.mul %6, %s : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %8 = bp.matmul %x, %7 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %4, %8 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Bytes of the first factor need no zero point to be integers.
// KEEP-LABEL: func.func @main(%arg0: tensor<4x6xi8>)
// CHECK-LABEL: func.func @main
// CHECK: bp.matmul {{.*}} : (tensor<4x6xi32>, tensor<6x8xi32>) -> tensor<4x8xi32>
func.func @main(%x: tensor<4x6xi8>) -> tensor<4x8xf32> {
  %s = bp.constant {dims = #bp.dims<["4", "6"]>, dtype = f32, value = dense<0.5> : tensor<4x6xf32>} : () -> tensor<4x6xf32>
  %w = bp.weight {id = "00000000000000000000000000000001", dtype = i8, dims = #bp.dims<["6", "8"]>} : () -> tensor<6x8xi8>
  %t = bp.constant {dims = #bp.dims<["6", "8"]>, dtype = f32, value = dense<0.25> : tensor<6x8xf32>} : () -> tensor<6x8xf32>
  %0 = bp.cast %x {dtype = f32} : (tensor<4x6xi8>) -> tensor<4x6xf32>
  %1 = bp.mul %0, %s : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = bp.cast %w {dtype = f32} : (tensor<6x8xi8>) -> tensor<6x8xf32>
  %3 = bp.mul %2, %t : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %4 = bp.matmul %1, %3 : (tensor<4x6xf32>, tensor<6x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}
