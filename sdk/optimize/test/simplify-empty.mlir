// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --split-input-file --bp-simplify | FileCheck %s

// A result without elements is a constant, whatever it is computed from.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[EMPTY:.*]] = bp.constant {{.*}}: () -> tensor<2x0xf32>
// CHECK-NEXT: return %[[EMPTY]]
func.func @main(%x: tensor<5x0xf32>) -> tensor<2x0xf32> {
  %0 = bp.slice %x {starts = #bp.dims<["1", "0"]>, sizes = #bp.dims<["2", "0"]>, strides = array<i64: 1, 1>} : (tensor<5x0xf32>) -> tensor<2x0xf32>
  %1 = bp.exp %0 : (tensor<2x0xf32>) -> tensor<2x0xf32>
  return %1 : tensor<2x0xf32>
}

// -----

// Also where other sizes are symbols.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: bp.constant {{.*}}: () -> tensor<?x0xf32, #bp.dims<["n", "0"]>>
// CHECK-NEXT: return
func.func @main(%x: tensor<?x3xf32, #bp.dims<["n", "3"]>>, %y: tensor<3x0xf32>) -> tensor<?x0xf32, #bp.dims<["n", "0"]>> {
  %0 = bp.matmul %x, %y {transpose_a = false, transpose_b = false} : (tensor<?x3xf32, #bp.dims<["n", "3"]>>, tensor<3x0xf32>) -> tensor<?x0xf32, #bp.dims<["n", "0"]>>
  return %0 : tensor<?x0xf32, #bp.dims<["n", "0"]>>
}

// -----

// Both results of a sort of nothing.
// CHECK-LABEL: func.func @main
// CHECK-NOT: bp.top_k
// CHECK: return
func.func @main(%x: tensor<3x0xf32>) -> (tensor<3x0xf32>, tensor<3x0xi64>) {
  %0, %1 = bp.top_k %x {k = #bp.dims<["0"]>, axis = 1 : i64, largest = true} : (tensor<3x0xf32>) -> (tensor<3x0xf32>, tensor<3x0xi64>)
  return %0, %1 : tensor<3x0xf32>, tensor<3x0xi64>
}

// -----

// A sum of no products is 0.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: bp.constant {{.*}}value = dense<0.000000e+00>
// CHECK-NEXT: return
func.func @main(%x: tensor<3x0xf32>, %y: tensor<0x5xf32>) -> tensor<3x5xf32> {
  %0 = bp.matmul %x, %y {transpose_a = false, transpose_b = false} : (tensor<3x0xf32>, tensor<0x5xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

// What nothing combines to.
// CHECK-LABEL: func.func @main
// CHECK-DAG: value = dense<0.000000e+00> : tensor<3xf32>
// CHECK-DAG: value = dense<1> : tensor<3xi32>
// CHECK-DAG: value = dense<0xFF800000> : tensor<3xf32>
// CHECK-DAG: value = dense<2147483647> : tensor<3xi32>
// CHECK-DAG: value = dense<true> : tensor<3xi1>
// CHECK-DAG: value = dense<0> : tensor<3xi64>
// CHECK-NOT: bp.reduce
// CHECK-NOT: bp.arg_reduce
// CHECK: return
func.func @main(%x: tensor<3x0xf32>, %i: tensor<3x0xi32>, %b: tensor<3x0xi1>) -> (tensor<3xf32>, tensor<3xi32>, tensor<3xf32>, tensor<3xi32>, tensor<3xi1>, tensor<3xi64>) {
  %0 = bp.reduce %x {kind = "sum", axes = array<i64: 1>, keep = false} : (tensor<3x0xf32>) -> tensor<3xf32>
  %1 = bp.reduce %i {kind = "prod", axes = array<i64: 1>, keep = false} : (tensor<3x0xi32>) -> tensor<3xi32>
  %2 = bp.reduce %x {kind = "max", axes = array<i64: 1>, keep = false} : (tensor<3x0xf32>) -> tensor<3xf32>
  %3 = bp.reduce %i {kind = "min", axes = array<i64: 1>, keep = false} : (tensor<3x0xi32>) -> tensor<3xi32>
  %4 = bp.reduce %b {kind = "and", axes = array<i64: 1>, keep = false} : (tensor<3x0xi1>) -> tensor<3xi1>
  %5 = bp.arg_reduce %x {kind = "max", axis = 1 : i64, keep = false, last = false} : (tensor<3x0xf32>) -> tensor<3xi64>
  return %0, %1, %2, %3, %4, %5 : tensor<3xf32>, tensor<3xi32>, tensor<3xf32>, tensor<3xi32>, tensor<3xi1>, tensor<3xi64>
}

// -----

// Empty parts of a concat go; around nothing a pad adds its value; a scatter
// of nothing changes nothing.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>, %{{.*}}, %[[V:.*]]: tensor<f32>
// CHECK: %[[P:.*]] = bp.broadcast %[[V]]
// CHECK: return %[[X]], %[[P]], %[[X]]
func.func @main(%x: tensor<2x3xf32>, %e: tensor<2x0xf32>, %v: tensor<f32>, %i: tensor<0xi64>, %u: tensor<0x3xf32>) -> (tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x3xf32>) {
  %0 = bp.concat %e, %x, %e {axis = 1 : i64} : (tensor<2x0xf32>, tensor<2x3xf32>, tensor<2x0xf32>) -> tensor<2x3xf32>
  %1 = bp.pad %e, %v {low = #bp.dims<["0", "1"]>, high = #bp.dims<["0", "3"]>, mode = "constant"} : (tensor<2x0xf32>, tensor<f32>) -> tensor<2x4xf32>
  %2 = bp.scatter %x, %i, %u {axis = 0 : i64, combine = "add"} : (tensor<2x3xf32>, tensor<0xi64>, tensor<0x3xf32>) -> tensor<2x3xf32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x3xf32>
}
