// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-lower-to-linalg -bp-bind-buffers -bp-gpu-contract=matrix-unit=nvvm -split-input-file | FileCheck %s

// Where several subgroups multiply from memory, scores are a block ahead:
// weights are made of them while the products of the block before go on.
module attributes {bp.target = {group_threads = 128 : i64, max_group_threads = 1024 : i64, shared_bytes = 49152 : i64, max_shared_bytes = 232448 : i64, subgroup_sizes = array<i64: 32>, matrix_shapes.f16 = array<i64: 16, 8, 16, 64, 64, 16>}} {
// CHECK-LABEL: func.func @ahead
// CHECK-SAME: bp.group_threads = 128 : i64
// CHECK: memref.alloc() {bp.dynamic}
// CHECK-COUNT-2: nvvm.mbarrier.init
// CHECK-COUNT-2: nvvm.mbarrier.init
// CHECK: mbarrier.try_wait.parity
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: llvm.nvvm.ex2.approx.ftz
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor
// CHECK: mbarrier.try_wait.parity
// CHECK: wgmma.fence.sync.aligned;
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{.*}}, p, 1, 1, 0, 0;
// CHECK: mbarrier.try_wait.parity
// CHECK: wgmma.fence.sync.aligned;
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{.*}}, {$32, $33, $34, $35}, $36, p, 1, 1, 1;
// CHECK: wgmma.wait_group.sync.aligned 1;
// CHECK: llvm.nvvm.ex2.approx.ftz
// CHECK: cvt.rn.f16x2.f32
// CHECK: wgmma.wait_group.sync.aligned 0;
// CHECK: scf.yield
func.func @ahead(%q: tensor<4x256x64xf16>, %k: tensor<4x512x64xf16>, %v: tensor<4x512x64xf16>) -> tensor<4x256x64xf16>
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

// A mask that hides columns behind a place of their own row: blocks that no row
// of a work-group sees have no scores, and weights of zero.
module attributes {bp.target = {group_threads = 128 : i64, shared_bytes = 49152 : i64, subgroup_sizes = array<i64: 32>, matrix_shapes.f16 = array<i64: 16, 8, 16>}} {
// CHECK-LABEL: func.func @causal
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: scf.for {{.*}} iter_args
// CHECK: llvm.nvvm.ex2.approx.ftz
// CHECK: scf.yield
// CHECK: scf.for {{.*}} iter_args
// CHECK-NOT: ex2
// CHECK: nvvm.mma.sync
// CHECK: scf.yield
func.func @causal(%q: tensor<4x256x64xf16>, %k: tensor<4x256x64xf16>, %v: tensor<4x256x64xf16>) -> tensor<4x256x64xf16>
    attributes {bp.dispatch, bp.symbols = []} {
  %s = bp.matmul %q, %k {transpose_b = true} : (tensor<4x256x64xf16>, tensor<4x256x64xf16>) -> tensor<4x256x256xf16>
  %row = bp.iota {dims = #bp.dims<["256", "256"]>, dtype = i64} : () -> tensor<256x256xi64>
  %column = bp.iota {axis = 1 : i64, dims = #bp.dims<["256", "256"]>, dtype = i64} : () -> tensor<256x256xi64>
  %sees = bp.compare %column, %row {direction = "le"} : (tensor<256x256xi64>, tensor<256x256xi64>) -> tensor<256x256xi1>
  %all = bp.broadcast %sees {axes = array<i64: 1, 2>, dims = #bp.dims<["4", "256", "256"]>} : (tensor<256x256xi1>) -> tensor<4x256x256xi1>
  %none = bp.constant {dims = #bp.dims<["4", "256", "256"]>, dtype = f16, value = dense<0xFC00> : tensor<4x256x256xf16>} : () -> tensor<4x256x256xf16>
  %x = bp.select %all, %s, %none : (tensor<4x256x256xi1>, tensor<4x256x256xf16>, tensor<4x256x256xf16>) -> tensor<4x256x256xf16>
  %top = bp.reduce %x {kind = "max", axes = array<i64: 2>, keep = true} : (tensor<4x256x256xf16>) -> tensor<4x256x1xf16>
  %tops = bp.broadcast %top {dims = #bp.dims<["4", "256", "256"]>, axes = array<i64: 0, 1, 2>} : (tensor<4x256x1xf16>) -> tensor<4x256x256xf16>
  %below = bp.sub %x, %tops : (tensor<4x256x256xf16>, tensor<4x256x256xf16>) -> tensor<4x256x256xf16>
  %exp = bp.exp %below : (tensor<4x256x256xf16>) -> tensor<4x256x256xf16>
  %sum = bp.reduce %exp {kind = "sum", axes = array<i64: 2>, keep = true} : (tensor<4x256x256xf16>) -> tensor<4x256x1xf16>
  %sums = bp.broadcast %sum {dims = #bp.dims<["4", "256", "256"]>, axes = array<i64: 0, 1, 2>} : (tensor<4x256x1xf16>) -> tensor<4x256x256xf16>
  %w = bp.div %exp, %sums : (tensor<4x256x256xf16>, tensor<4x256x256xf16>) -> tensor<4x256x256xf16>
  %r = bp.matmul %w, %v : (tensor<4x256x256xf16>, tensor<4x256x64xf16>) -> tensor<4x256x64xf16>
  return %r : tensor<4x256x64xf16>
}
}

// -----

// Weights that are no numbers are zeros, as those of rows that a mask hides:
// powers and corrections are, and a factor that is no number.
module attributes {bp.target = {group_threads = 128 : i64, shared_bytes = 49152 : i64, subgroup_sizes = array<i64: 32>, matrix_shapes.f16 = array<i64: 16, 8, 16>}} {
// CHECK-LABEL: func.func @hides
// CHECK: scf.for {{.*}} iter_args
// CHECK: llvm.nvvm.ex2.approx.ftz
// CHECK-NEXT: arith.maxnumf
// CHECK: nvvm.mma.sync
// CHECK: scf.yield
// CHECK: %[[NONE:.*]] = arith.cmpf uno
// CHECK: arith.select %[[NONE]]
func.func @hides(%q: tensor<4x256x64xf16>, %k: tensor<4x256x64xf16>, %v: tensor<4x256x64xf16>, %m: tensor<4x256x256xf16>) -> tensor<4x256x64xf16>
    attributes {bp.dispatch, bp.symbols = []} {
  %s = bp.matmul %q, %k {transpose_b = true} : (tensor<4x256x64xf16>, tensor<4x256x64xf16>) -> tensor<4x256x256xf16>
  %x = bp.add %s, %m : (tensor<4x256x256xf16>, tensor<4x256x256xf16>) -> tensor<4x256x256xf16>
  %top = bp.reduce %x {kind = "max", axes = array<i64: 2>, keep = true} : (tensor<4x256x256xf16>) -> tensor<4x256x1xf16>
  %tops = bp.broadcast %top {dims = #bp.dims<["4", "256", "256"]>, axes = array<i64: 0, 1, 2>} : (tensor<4x256x1xf16>) -> tensor<4x256x256xf16>
  %below = bp.sub %x, %tops : (tensor<4x256x256xf16>, tensor<4x256x256xf16>) -> tensor<4x256x256xf16>
  %exp = bp.exp %below : (tensor<4x256x256xf16>) -> tensor<4x256x256xf16>
  %sum = bp.reduce %exp {kind = "sum", axes = array<i64: 2>, keep = true} : (tensor<4x256x256xf16>) -> tensor<4x256x1xf16>
  %sums = bp.broadcast %sum {dims = #bp.dims<["4", "256", "256"]>, axes = array<i64: 0, 1, 2>} : (tensor<4x256x1xf16>) -> tensor<4x256x256xf16>
  %w = bp.div %exp, %sums : (tensor<4x256x256xf16>, tensor<4x256x256xf16>) -> tensor<4x256x256xf16>
  %none = bp.is_nan %w : (tensor<4x256x256xf16>) -> tensor<4x256x256xi1>
  %zero = bp.constant {dims = #bp.dims<["4", "256", "256"]>, dtype = f16, value = dense<0.0> : tensor<4x256x256xf16>} : () -> tensor<4x256x256xf16>
  %ws = bp.select %none, %zero, %w : (tensor<4x256x256xi1>, tensor<4x256x256xf16>, tensor<4x256x256xf16>) -> tensor<4x256x256xf16>
  %r = bp.matmul %ws, %v : (tensor<4x256x256xf16>, tensor<4x256x64xf16>) -> tensor<4x256x64xf16>
  return %r : tensor<4x256x64xf16>
}
}
