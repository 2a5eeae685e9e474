// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-form-dispatches=fusion=31 | FileCheck %s

// The reshape between a reduction and its broadcast is computed in the one
// dispatch; nothing in main asks for the reduction's value.

// CHECK-LABEL: func.func @main
// CHECK-NOT: bp.reshape
// CHECK: call @
// CHECK-NOT: call @
// CHECK: return
func.func @main(%x: tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
  %sum = bp.reduce %x {axes = array<i64: 2>, keep = false, kind = "sum"} : (tensor<4x8x16xf32>) -> tensor<4x8xf32>
  %twice = bp.add %sum, %sum : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %row = bp.reshape %twice {dims = #bp.dims<["4", "8", "1"]>} : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
  %all = bp.broadcast %row {axes = array<i64: 0, 1, 2>, dims = #bp.dims<["4", "8", "16"]>} : (tensor<4x8x1xf32>) -> tensor<4x8x16xf32>
  %result = bp.sub %x, %all : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %result : tensor<4x8x16xf32>
}
