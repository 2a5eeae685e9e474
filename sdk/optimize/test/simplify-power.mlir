// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-simplify --cse | FileCheck %s

// CHECK-LABEL: @square
// CHECK-NEXT: %[[Y:.*]] = bp.mul %arg0, %arg0
// CHECK-NEXT: return %[[Y]]
func.func @square(%x: tensor<4xf16>) -> tensor<4xf16> {
  %c = bp.constant {value = dense<2.0> : tensor<f16>, dtype = f16, dims = #bp.dims<[]>} : () -> tensor<f16>
  %e = bp.broadcast %c {dims = #bp.dims<["4"]>, axes = array<i64>} : (tensor<f16>) -> tensor<4xf16>
  %y = bp.pow %x, %e : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %y : tensor<4xf16>
}

// Two roundings of f16 would be too many.
// CHECK-LABEL: @cube
// CHECK: %[[X:.*]] = bp.cast %arg0 {dtype = f32}
// CHECK: %[[S:.*]] = bp.mul %[[X]], %[[X]]
// CHECK: %[[C:.*]] = bp.mul %[[S]], %[[X]]
// CHECK: bp.cast %[[C]] {dtype = f16}
func.func @cube(%x: tensor<4xf16>) -> tensor<4xf16> {
  %e = bp.constant {value = dense<3.0> : tensor<4xf16>, dtype = f16, dims = #bp.dims<["4"]>} : () -> tensor<4xf16>
  %y = bp.pow %x, %e : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %y : tensor<4xf16>
}

// The root of -infinity is no number, that of -0 is -0; the powers are not.
// CHECK-LABEL: @root
// CHECK-DAG: %[[R:.*]] = bp.sqrt %arg0
// CHECK-DAG: %[[Z:.*]] = bp.constant {{.*}}dense<0.000000e+00>
// CHECK-DAG: %[[M:.*]] = bp.constant {{.*}}dense<0xFF800000>
// CHECK-DAG: %[[I:.*]] = bp.constant {{.*}}dense<0x7F800000>
// CHECK-DAG: %[[IsZero:.*]] = bp.compare %arg0, %[[Z]] {direction = "eq"}
// CHECK-DAG: %[[A:.*]] = bp.select %[[IsZero]], %[[Z]], %[[R]]
// CHECK-DAG: %[[IsInf:.*]] = bp.compare %arg0, %[[M]] {direction = "eq"}
// CHECK: bp.select %[[IsInf]], %[[I]], %[[A]]
func.func @root(%x: tensor<?xf32, #bp.dims<["n"]>>) -> tensor<?xf32, #bp.dims<["n"]>> {
  %e = bp.constant {value = dense<0.5> : tensor<f32>, dtype = f32, dims = #bp.dims<["n"]>} : () -> tensor<?xf32, #bp.dims<["n"]>>
  %y = bp.pow %x, %e : (tensor<?xf32, #bp.dims<["n"]>>, tensor<?xf32, #bp.dims<["n"]>>) -> tensor<?xf32, #bp.dims<["n"]>>
  return %y : tensor<?xf32, #bp.dims<["n"]>>
}

// CHECK-LABEL: @other
// CHECK: bp.pow
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = bp.constant {value = dense<1.5> : tensor<4xf32>, dtype = f32, dims = #bp.dims<["4"]>} : () -> tensor<4xf32>
  %y = bp.pow %x, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// A mean of rows has no axis of size 1 until its rows need it again.
// CHECK-LABEL: @mean
// CHECK: %[[S:.*]] = bp.reduce %arg0 {axes = array<i64: 1>, kind = "sum"} {{.*}} -> tensor<3xf32>
// CHECK: %[[M:.*]] = bp.div %[[S]]
// CHECK: bp.broadcast %[[M]] {axes = array<i64: 0>
func.func @mean(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %n = bp.constant {value = dense<8.0> : tensor<3x1xf32>, dtype = f32, dims = #bp.dims<["3", "1"]>} : () -> tensor<3x1xf32>
  %s = bp.reduce %x {kind = "sum", axes = array<i64: 1>, keep = true} : (tensor<3x8xf32>) -> tensor<3x1xf32>
  %m = bp.div %s, %n : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  %a = bp.broadcast %m {dims = #bp.dims<["3", "8"]>, axes = array<i64: 0, 1>} : (tensor<3x1xf32>) -> tensor<3x8xf32>
  %y = bp.sub %x, %a : (tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// CHECK-LABEL: @mean_of_one
// CHECK: bp.reduce %arg0 {axes = array<i64: 1>, keep = true
func.func @mean_of_one(%x: tensor<3x1xf32>) -> tensor<3x1xf32> {
  %s = bp.reduce %x {kind = "sum", axes = array<i64: 1>, keep = true} : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %y = bp.sub %x, %s : (tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  return %y : tensor<3x1xf32>
}
