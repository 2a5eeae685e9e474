// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-reduce=subgroups=true -bp-per-element -bp-bufferize -bp-expand-math -bp-to-gpu-entry -bp-to-spirv=subgroups=true | sed -n '/spirv.module/,/^  }/p' > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: mlir-translate --no-implicit-module --serialize-spirv %t.mlir -o %t.spv
// RUN: spirv-val --target-env vulkan1.1 %t.spv

// The larger of two is found as everywhere: not by an operation of subgroups,
// which leaves NaN and the order of zeros to the device.
// CHECK-COUNT-3: spirv.GroupNonUniformShuffleXor <Subgroup> {{.*}} : f64, i32
// CHECK-NOT: GroupNonUniformF
func.func @maxima(%x: tensor<2x512xf64>, %out: tensor<2xf64>) -> tensor<2xf64>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %start = arith.constant 0xFFF0000000000000 : f64
  %f = linalg.fill ins(%start : f64) outs(%out : tensor<2xf64>) -> tensor<2xf64>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x512xf64>) outs(%f : tensor<2xf64>) {
  ^bb0(%v: f64, %o: f64):
    %t = arith.maximumf %o, %v : f64
    linalg.yield %t : f64
  } -> tensor<2xf64>
  return %r : tensor<2xf64>
}
