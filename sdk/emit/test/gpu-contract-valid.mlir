// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-contract -bp-per-element -bp-bufferize -bp-expand-math -bp-to-gpu-entry -bp-to-spirv | sed -n '/spirv.module/,/^  }/p' > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: mlir-translate --no-implicit-module --serialize-spirv %t.mlir -o %t.spv
// RUN: spirv-val --target-env vulkan1.1 %t.spv

// Tiles with memory of the work-group, barriers, guarded edges and something
// behind the sums make a module that Vulkan takes.
// CHECK: spirv.GlobalVariable @shared{{.*}} : !spirv.ptr<!spirv.array<2048 x f32>, Workgroup>
// CHECK: spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|WorkgroupMemory>
func.func @product(%a: tensor<?x40xf16> {bp.dims = ["n", "40"]},
                   %b: tensor<40x100xbf16>, %out: tensor<?x100xf16> {bp.dims = ["n", "100"]},
                   %n: index) -> tensor<?x100xf16>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64, bp.symbols = ["n"]} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x100xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x100xf32>) -> tensor<?x100xf32>
  %c = linalg.matmul ins(%a, %b : tensor<?x40xf16>, tensor<40x100xbf16>) outs(%f : tensor<?x100xf32>) -> tensor<?x100xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<?x100xf32>) outs(%out : tensor<?x100xf16>) {
  ^bb0(%v: f32, %o: f16):
    %t = math.exp %v : f32
    %h = arith.truncf %t : f32 to f16
    linalg.yield %h : f16
  } -> tensor<?x100xf16>
  return %r : tensor<?x100xf16>
}
