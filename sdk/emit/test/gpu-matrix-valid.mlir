// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-contract=matrix-unit=nvvm -bp-gpu-reduce=subgroups=true -bp-per-element -bp-bufferize -bp-expand-math -bp-to-gpu-entry -bp-to-nvvm | FileCheck %s

// What follows the product is computed from its sums, in the same kernel; edges
// are guarded. NVIDIA's assembler takes it: nvptx-valid.mlir.
// CHECK: llvm.func @product
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.mma.sync
// CHECK: llvm.fptrunc
module attributes {bp.target = {group_threads = 128 : i64, shared_bytes = 49152 : i64, subgroup_sizes = array<i64: 32>, matrix_shapes.f16 = array<i64: 16, 8, 16>}} {
func.func @product(%a: tensor<?x40xf16> {bp.dims = ["n", "40"]},
                   %b: tensor<40x100xf16>, %out: tensor<?x100xf16> {bp.dims = ["n", "100"]},
                   %n: index) -> tensor<?x100xf16>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64, bp.symbols = ["n"]} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?x100xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x100xf32>) -> tensor<?x100xf32>
  %c = linalg.matmul ins(%a, %b : tensor<?x40xf16>, tensor<40x100xf16>) outs(%f : tensor<?x100xf32>) -> tensor<?x100xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<?x100xf32>) outs(%out : tensor<?x100xf16>) {
  ^bb0(%v: f32, %o: f16):
    %t = math.exp %v : f32
    %h = arith.truncf %t : f32 to f16
    linalg.yield %h : f16
  } -> tensor<?x100xf16>
  return %r : tensor<?x100xf16>
}
}
