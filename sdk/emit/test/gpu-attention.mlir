// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-lower-to-linalg -bp-bind-buffers -bp-gpu-contract=matrix-unit=nvvm -split-input-file | FileCheck %s

// Scores of a block of columns are in memory of the work-group; one pass over
// the columns carries maximum, sum and results, and corrects what came before.
// CHECK-LABEL: func.func @plain
// CHECK: scf.forall
// CHECK: scf.for {{.*}} iter_args
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: arith.maximumf
// CHECK: math.exp
// CHECK: gpu.barrier
// CHECK: arith.mulf
// CHECK: memref.store {{.*}} : memref<2x4x40x8xf32>
// CHECK-NOT: memref.alloc{{.*}}40x70
// CHECK-NOT: tensor.
func.func @plain(%q: tensor<2x4x40x16xf32>, %k: tensor<2x4x70x16xf32>, %v: tensor<2x4x70x8xf32>, %m: tensor<2x1x40x70xf32>) -> tensor<2x4x40x8xf32>
    attributes {bp.dispatch, bp.symbols = []} {
  %x = bp.matmul %q, %k {transpose_b = true} : (tensor<2x4x40x16xf32>, tensor<2x4x70x16xf32>) -> tensor<2x4x40x70xf32>
  %ms = bp.broadcast %m {dims = #bp.dims<["2", "4", "40", "70"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x1x40x70xf32>) -> tensor<2x4x40x70xf32>
  %y = bp.add %x, %ms : (tensor<2x4x40x70xf32>, tensor<2x4x40x70xf32>) -> tensor<2x4x40x70xf32>
  %top = bp.reduce %y {kind = "max", axes = array<i64: 3>, keep = true} : (tensor<2x4x40x70xf32>) -> tensor<2x4x40x1xf32>
  %tops = bp.broadcast %top {dims = #bp.dims<["2", "4", "40", "70"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x40x1xf32>) -> tensor<2x4x40x70xf32>
  %below = bp.sub %y, %tops : (tensor<2x4x40x70xf32>, tensor<2x4x40x70xf32>) -> tensor<2x4x40x70xf32>
  %exp = bp.exp %below : (tensor<2x4x40x70xf32>) -> tensor<2x4x40x70xf32>
  %sum = bp.reduce %exp {kind = "sum", axes = array<i64: 3>, keep = true} : (tensor<2x4x40x70xf32>) -> tensor<2x4x40x1xf32>
  %sums = bp.broadcast %sum {dims = #bp.dims<["2", "4", "40", "70"]>, axes = array<i64: 0, 1, 2, 3>} : (tensor<2x4x40x1xf32>) -> tensor<2x4x40x70xf32>
  %w = bp.div %exp, %sums : (tensor<2x4x40x70xf32>, tensor<2x4x40x70xf32>) -> tensor<2x4x40x70xf32>
  %r = bp.matmul %w, %v : (tensor<2x4x40x70xf32>, tensor<2x4x70x8xf32>) -> tensor<2x4x40x8xf32>
  return %r : tensor<2x4x40x8xf32>
}

// -----

// Halves are multiplied by matrix instructions. Those of Q stay in registers;
// the next block of K and V is copied while one is computed. Scores stay where
// the first product leaves them: lanes of a row exchange its maximum, and
// weights are factors of the second product as they are.
module attributes {bp.target = {group_threads = 128 : i64, shared_bytes = 49152 : i64, subgroup_sizes = array<i64: 32>, matrix_shapes.f16 = array<i64: 16, 8, 16>}} {
// CHECK-LABEL: func.func @halves
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 1
// CHECK-NEXT: gpu.barrier
// CHECK: nvvm.ldmatrix
// CHECK: scf.for
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: gpu.barrier
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.mma.sync
// CHECK-NOT: gpu.barrier
// CHECK: arith.maximumf
// CHECK: gpu.shuffle xor
// CHECK: llvm.nvvm.ex2.approx.ftz
// CHECK: cvt.rn.f16x2.f32
// CHECK-NOT: memref.store
// CHECK: nvvm.mma.sync
// CHECK: scf.yield
func.func @halves(%q: tensor<4x256x64xf16>, %k: tensor<4x512x64xf16>, %v: tensor<4x512x64xf16>) -> tensor<4x256x64xf16>
    attributes {bp.dispatch, bp.symbols = []} {
  %x = bp.matmul %q, %k {transpose_b = true} : (tensor<4x256x64xf16>, tensor<4x512x64xf16>) -> tensor<4x256x512xf16>
  %top = bp.reduce %x {kind = "max", axes = array<i64: 2>, keep = true} : (tensor<4x256x512xf16>) -> tensor<4x256x1xf16>
  %tops = bp.broadcast %top {dims = #bp.dims<["4", "256", "512"]>, axes = array<i64: 0, 1, 2>} : (tensor<4x256x1xf16>) -> tensor<4x256x512xf16>
  %below = bp.sub %x, %tops : (tensor<4x256x512xf16>, tensor<4x256x512xf16>) -> tensor<4x256x512xf16>
  %exp = bp.exp %below : (tensor<4x256x512xf16>) -> tensor<4x256x512xf16>
  %sum = bp.reduce %exp {kind = "sum", axes = array<i64: 2>, keep = true} : (tensor<4x256x512xf16>) -> tensor<4x256x1xf16>
  %sums = bp.broadcast %sum {dims = #bp.dims<["4", "256", "512"]>, axes = array<i64: 0, 1, 2>} : (tensor<4x256x1xf16>) -> tensor<4x256x512xf16>
  %w = bp.div %exp, %sums : (tensor<4x256x512xf16>, tensor<4x256x512xf16>) -> tensor<4x256x512xf16>
  %r = bp.matmul %w, %v : (tensor<4x256x512xf16>, tensor<4x512x64xf16>) -> tensor<4x256x64xf16>
  return %r : tensor<4x256x64xf16>
}
}

// -----

// Weights that are no softmax, here of scores above zero alone: a pass for each
// reduction, and one for the result.
// CHECK-LABEL: func.func @other
// CHECK: scf.forall
// CHECK: arith.addf
// CHECK: scf.for
// CHECK: math.exp
// CHECK: scf.for
// CHECK: math.exp
// CHECK-NOT: arith.maximumf
// CHECK-NOT: tensor.
func.func @other(%q: tensor<4x?x16xf32, #bp.dims<["4", "s", "16"]>>, %k: tensor<4x?x16xf32, #bp.dims<["4", "t", "16"]>>, %v: tensor<4x?x16xf32, #bp.dims<["4", "t", "16"]>>) -> tensor<4x?x16xf32, #bp.dims<["4", "s", "16"]>>
    attributes {bp.dispatch, bp.symbols = ["s", "t"]} {
  %x = bp.matmul %q, %k {transpose_b = true} : (tensor<4x?x16xf32, #bp.dims<["4", "s", "16"]>>, tensor<4x?x16xf32, #bp.dims<["4", "t", "16"]>>) -> tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>
  %exp = bp.exp %x : (tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>) -> tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>
  %sum = bp.reduce %exp {kind = "sum", axes = array<i64: 2>, keep = true} : (tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>) -> tensor<4x?x1xf32, #bp.dims<["4", "s", "1"]>>
  %sums = bp.broadcast %sum {dims = #bp.dims<["4", "s", "t"]>, axes = array<i64: 0, 1, 2>} : (tensor<4x?x1xf32, #bp.dims<["4", "s", "1"]>>) -> tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>
  %w = bp.div %exp, %sums : (tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>, tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>) -> tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>
  %r = bp.matmul %w, %v : (tensor<4x?x?xf32, #bp.dims<["4", "s", "t"]>>, tensor<4x?x16xf32, #bp.dims<["4", "t", "16"]>>) -> tensor<4x?x16xf32, #bp.dims<["4", "s", "16"]>>
  return %r : tensor<4x?x16xf32, #bp.dims<["4", "s", "16"]>>
}
