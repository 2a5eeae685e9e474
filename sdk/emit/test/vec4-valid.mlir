// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-contract -bp-per-element -bp-bufferize -bp-expand-math -bp-to-gpu-entry -bp-to-spirv | sed -n '/spirv.module/,/^  }/p' > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: mlir-translate --no-implicit-module --serialize-spirv %t.mlir -o %t.spv
// RUN: spirv-val --target-env vulkan1.1 %t.spv

// One binding as two variables makes a module that Vulkan takes.
// CHECK: bind(0, 0) {aliased} : {{.*}}<f32, stride=4>
// CHECK: bind(0, 0) {aliased} : {{.*}}<vector<4xf32>, stride=16>
// CHECK: spirv.Load "StorageBuffer" {{.*}} : vector<4xf32>
func.func @product(%a: tensor<?x40xf32> {bp.dims = ["n", "40"]},
                   %b: tensor<40x100xf32>, %out: tensor<?x100xf32> {bp.dims = ["n", "100"]},
                   %n: index) -> tensor<?x100xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64, bp.symbols = ["n"]} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x100xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x100xf32>) -> tensor<?x100xf32>
  %c = linalg.matmul ins(%a, %b : tensor<?x40xf32>, tensor<40x100xf32>) outs(%f : tensor<?x100xf32>) -> tensor<?x100xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<?x100xf32>) outs(%out : tensor<?x100xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = math.absf %v : f32
    linalg.yield %t : f32
  } -> tensor<?x100xf32>
  return %r : tensor<?x100xf32>
}
