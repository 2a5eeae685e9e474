// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s | bp-opt | FileCheck %s

// CHECK-LABEL: func.func @matmul
// CHECK: bp.matmul %{{.*}}, %{{.*}} : (tensor<?x64xf32, #bp.dims<["n", "64"]>>, tensor<64x8xf32>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
func.func @matmul(%a: tensor<?x64xf32, #bp.dims<["n", "64"]>>, %b: tensor<64x8xf32>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>> {
  %0 = bp.matmul %a, %b : (tensor<?x64xf32, #bp.dims<["n", "64"]>>, tensor<64x8xf32>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
  return %0 : tensor<?x8xf32, #bp.dims<["n", "8"]>>
}

// Dims become canonical when they are read.
// CHECK-LABEL: func.func @canonical
// CHECK-SAME: #bp.dims<["2*n + 3"]>
func.func @canonical(%a: tensor<?xf32, #bp.dims<["3 + n*2"]>>) {
  return
}

// CHECK-LABEL: func.func @constants
// CHECK: bp.constant {dims = #bp.dims<["n"]>, dtype = ui8, value = dense<7> : tensor<ui8>} : () -> tensor<?xui8, #bp.dims<["n"]>>
// CHECK: bp.weight
func.func @constants() {
  %0 = bp.constant {dims = #bp.dims<["n"]>, dtype = ui8, value = dense<7> : tensor<ui8>} : () -> tensor<?xui8, #bp.dims<["n"]>>
  %1 = bp.weight {id = "0123456789abcdef0123456789abcdef", dtype = f16, dims = #bp.dims<["2", "3"]>} : () -> tensor<2x3xf16>
  return
}
