// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-contract -bp-per-element -bp-bufferize -bp-expand-math -bp-to-gpu-entry -bp-to-spirv | sed -n '/spirv.module/,/^  }/p' > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: mlir-translate --no-implicit-module --serialize-spirv %t.mlir -o %t.spv
// RUN: spirv-val --target-env vulkan1.1 %t.spv

// CHECK: spirv.ExecutionMode @product "LocalSize", 256, 1, 1
module attributes {bp.target = {group_threads = 256 : i64}} {
func.func @product(%a: tensor<256x64xf32>, %b: tensor<64x128xf32>,
                   %out: tensor<256x128xf32>) -> tensor<256x128xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<256x128xf32>) -> tensor<256x128xf32>
  %c = linalg.matmul ins(%a, %b : tensor<256x64xf32>, tensor<64x128xf32>) outs(%f : tensor<256x128xf32>) -> tensor<256x128xf32>
  return %c : tensor<256x128xf32>
}
}
