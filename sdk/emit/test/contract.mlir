// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-contract=vector-bits=512 -split-input-file | FileCheck %s

// Work-groups, a copy of both operands, a kernel of multiply-adds on vectors.
// CHECK-LABEL: func.func @matmul
// CHECK: scf.forall {{.*}} = (0, 0) to (1024, 1024)
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-24: math.fma {{.*}} : vector<16xf32>
// CHECK-NOT: linalg
func.func @matmul(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>,
                  %c: tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<1024x1024xf32>)
      -> tensor<1024x1024xf32>
  %r = linalg.matmul
      ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>)
      outs(%start : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}

// -----

// One row: B is streamed, nothing is copied.
// CHECK-LABEL: func.func @row
// CHECK: scf.forall
// CHECK-COUNT-8: math.fma
// CHECK-NOT: linalg
func.func @row(%a: tensor<1x64xf32>, %b: tensor<64x4096xf32>,
               %c: tensor<1x4096xf32>) -> tensor<1x4096xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<1x4096xf32>)
      -> tensor<1x4096xf32>
  %r = linalg.matmul ins(%a, %b : tensor<1x64xf32>, tensor<64x4096xf32>)
      outs(%start : tensor<1x4096xf32>) -> tensor<1x4096xf32>
  return %r : tensor<1x4096xf32>
}

// -----

// Anything else is left alone.
// CHECK-LABEL: func.func @other
// CHECK: linalg.generic {{.*}}"reduction"
func.func @other(%a: tensor<4x64xf32>, %c: tensor<4xf32>) -> tensor<4xf32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<4xf32>)
      -> tensor<4xf32>
  %r = linalg.reduce {arith.addf} ins(%a : tensor<4x64xf32>)
      outs(%start : tensor<4xf32>) dimensions = [1]
  return %r : tensor<4xf32>
}
