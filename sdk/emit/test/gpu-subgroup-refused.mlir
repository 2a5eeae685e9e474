// SPDX-License-Identifier: Apache-2.0
// RUN: not bp-opt %s -bp-bind-buffers -bp-gpu-reduce=subgroups=true -bp-per-element -bp-bufferize -bp-expand-math -bp-to-gpu-entry -bp-to-spirv 2>&1 | FileCheck %s

// Devices of the target that was named may have no shuffle.
// CHECK: failed to legalize operation 'gpu.{{.*}}'
func.func @sums(%x: tensor<2x512xi32>, %out: tensor<2xi32>) -> tensor<2xi32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %start = arith.constant 0 : i32
  %f = linalg.fill ins(%start : i32) outs(%out : tensor<2xi32>) -> tensor<2xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x512xi32>) outs(%f : tensor<2xi32>) {
  ^bb0(%v: i32, %o: i32):
    %t = arith.addi %o, %v : i32
    linalg.yield %t : i32
  } -> tensor<2xi32>
  return %r : tensor<2xi32>
}
