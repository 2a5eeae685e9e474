// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-contract=vector-bits=512 -split-input-file | FileCheck %s
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=512 registers=32" -split-input-file | FileCheck %s --check-prefix=OPTION

// Blocks of a work-group fit into the cache of level 2, 1 MiB where the target
// states none: 256 rows by 512 columns.
// CHECK-LABEL: func.func @unstated
// CHECK: scf.forall ({{.*}}) = (0, 0) to (4096, 4096) step (512, 258)
func.func @unstated(%a: tensor<4096x512xf32>, %b: tensor<512x4096xf32>, %out: tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %c = linalg.matmul ins(%a, %b : tensor<4096x512xf32>, tensor<512x4096xf32>) outs(%f : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %c : tensor<4096x4096xf32>
}

// -----

// CHECK-LABEL: func.func @small
// CHECK: scf.forall ({{.*}}) = (0, 0) to (4096, 4096) step (128, 66)
module attributes {bp.target = {cache_bytes.2 = 262144 : i64}} {
func.func @small(%a: tensor<4096x512xf32>, %b: tensor<512x4096xf32>, %out: tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %c = linalg.matmul ins(%a, %b : tensor<4096x512xf32>, tensor<512x4096xf32>) outs(%f : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %c : tensor<4096x4096xf32>
}
}

// -----

// With 16 registers the tile in them has half as many vectors; an option is stronger.
// CHECK-LABEL: func.func @few
// CHECK: %{{.*}}:8 = scf.for
// OPTION-LABEL: func.func @few
// OPTION: %{{.*}}:16 = scf.for
module attributes {bp.target = {registers = 16 : i64}} {
func.func @few(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %c : tensor<64x64xf32>
}
}
