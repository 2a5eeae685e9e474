// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-reduce=subgroups=true -bp-per-element -bp-bufferize -bp-expand-math -bp-to-gpu-entry -bp-to-spirv=subgroups=true | sed -n '/spirv.module/,/^  }/p' > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: mlir-translate --no-implicit-module --serialize-spirv %t.mlir -o %t.spv
// RUN: spirv-val --target-env vulkan1.1 %t.spv

// 64 bits travel at once.
// CHECK-COUNT-3: spirv.GroupNonUniformShuffleXor <Subgroup> {{.*}} : i64, i32
func.func @sums(%x: tensor<2x512xi64>, %out: tensor<2xi64>) -> tensor<2xi64>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %start = arith.constant 0 : i64
  %f = linalg.fill ins(%start : i64) outs(%out : tensor<2xi64>) -> tensor<2xi64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x512xi64>) outs(%f : tensor<2xi64>) {
  ^bb0(%v: i64, %o: i64):
    %t = arith.addi %o, %v : i64
    linalg.yield %t : i64
  } -> tensor<2xi64>
  return %r : tensor<2xi64>
}
