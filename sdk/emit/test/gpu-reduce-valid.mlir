// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-reduce -bp-per-element -bp-bufferize -bp-expand-math -bp-to-gpu-entry -bp-to-spirv | sed -n '/spirv.module/,/^  }/p' > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: mlir-translate --no-implicit-module --serialize-spirv %t.mlir -o %t.spv
// RUN: spirv-val --target-env vulkan1.1 %t.spv
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-reduce=subgroups=true -bp-per-element -bp-bufferize -bp-expand-math -bp-to-gpu-entry -bp-to-spirv=subgroups=true | sed -n '/spirv.module/,/^  }/p' > %t.sub.mlir
// RUN: FileCheck %s --check-prefix=SUB < %t.sub.mlir
// RUN: mlir-translate --no-implicit-module --serialize-spirv %t.sub.mlir -o %t.sub.spv
// RUN: spirv-val --target-env vulkan1.1 %t.sub.spv

// CHECK: spirv.GlobalVariable @shared{{.*}} : !spirv.ptr<!spirv.array<144 x f32>, Workgroup>
// CHECK-NOT: GroupNonUniform
// CHECK-COUNT-2: spirv.ControlBarrier

// SUB: GroupNonUniformShuffle
// SUB: spirv.GlobalVariable @shared{{.*}} : !spirv.ptr<!spirv.array<16 x f32>, Workgroup>
// SUB-COUNT-3: spirv.GroupNonUniformShuffleXor <Subgroup> {{.*}} : f32
// SUB: spirv.ControlBarrier
// SUB-NOT: spirv.ControlBarrier
func.func @sums(%x: tensor<3x1000xf16>, %out: tensor<3xf16>) -> tensor<3xf16>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x1000xf16>) outs(%f : tensor<3xf32>) {
  ^bb0(%v: f16, %o: f32):
    %w = arith.extf %v : f16 to f32
    %u = math.exp %w : f32
    %t = arith.addf %o, %u : f32
    linalg.yield %t : f32
  } -> tensor<3xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%s : tensor<3xf32>) outs(%out : tensor<3xf16>) {
  ^bb0(%v: f32, %o: f16):
    %t = arith.truncf %v : f32 to f16
    linalg.yield %t : f16
  } -> tensor<3xf16>
  return %r : tensor<3xf16>
}
