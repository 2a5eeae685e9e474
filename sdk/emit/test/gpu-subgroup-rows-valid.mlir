// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-reduce='subgroups=true cluster-sums=64' -bp-per-element -bp-bufferize -bp-expand-math -bp-to-gpu-entry -bp-to-spirv=subgroups=true | sed -n '/spirv.module/,/^  }/p' > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: mlir-translate --no-implicit-module --serialize-spirv %t.mlir -o %t.spv
// RUN: spirv-val --target-env vulkan1.1 %t.spv

// CHECK-NOT: Workgroup>
// CHECK-COUNT-3: spirv.GroupNonUniformShuffleXor <Subgroup> {{.*}} : f32, i32
// CHECK-NOT: spirv.ControlBarrier
func.func @rows(%x: tensor<100x131xf32>, %out: tensor<100xf32>) -> tensor<100xf32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %start = arith.constant 0.0 : f32
  %f = linalg.fill ins(%start : f32) outs(%out : tensor<100xf32>) -> tensor<100xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<100x131xf32>) outs(%f : tensor<100xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.addf %o, %v : f32
    linalg.yield %t : f32
  } -> tensor<100xf32>
  return %r : tensor<100xf32>
}
