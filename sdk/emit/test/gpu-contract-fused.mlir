// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-contract=fused-products=true -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @floats
// CHECK: math.fma
// CHECK-NOT: arith.mulf
func.func @floats(%a: tensor<64x32xf32>, %b: tensor<32x64xf32>,
                  %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %c : tensor<64x64xf32>
}

// -----

// Of integers there is nothing to round.
// CHECK-LABEL: func.func @integers
// CHECK: arith.muli
// CHECK: arith.addi
func.func @integers(%a: tensor<64x32xi32>, %b: tensor<32x64xi32>,
                    %out: tensor<64x64xi32>) -> tensor<64x64xi32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : i32
  %f = linalg.fill ins(%zero : i32) outs(%out : tensor<64x64xi32>) -> tensor<64x64xi32>
  %c = linalg.matmul ins(%a, %b : tensor<64x32xi32>, tensor<32x64xi32>) outs(%f : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %c : tensor<64x64xi32>
}

// -----

// The target declares two roundings.
module attributes {bp.round_products} {
// CHECK-LABEL: func.func @rounded
// CHECK-NOT: math.fma
// CHECK: arith.mulf
func.func @rounded(%a: tensor<64x32xf32>, %b: tensor<32x64xf32>,
                   %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %c : tensor<64x64xf32>
}
}
