// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-contract=matrix-unit=nvvm -split-input-file | FileCheck %s

// Products of warp groups read both blocks from memory that the launch asks for.
// Four blocks are there at once: one is multiplied, that before it may be, two
// arrive. 128 x 256 elements are for two warp groups. One invocation begins the
// copies of A and of the four panels of B; a barrier of each stage counts them.
module attributes {bp.target = {group_threads = 128 : i64, shared_bytes = 49152 : i64, max_group_threads = 1024 : i64, max_shared_bytes = 232448 : i64, subgroup_sizes = array<i64: 32>, matrix_shapes.bf16 = array<i64: 16, 8, 16, 64, 256, 16, 64, 128, 16, 64, 64, 16>}} {
// CHECK-LABEL: func.func @large
// CHECK-SAME: bp.group_threads = 256 : i64
// CHECK: scf.forall {{.*}} in (512)
// CHECK: memref.alloc() {bp.dynamic} : memref<49160xi32, #gpu.address_space<workgroup>>
// CHECK: scf.if
// CHECK-COUNT-4: nvvm.mbarrier.init
// CHECK-NEXT: nvvm.fence.mbarrier.init
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK: bp.tensor_map = {binding = 0 : i64, block = array<i64: 64, 128>, bytes = 2 : i64, sizes = array<i64: 512, 4096>, strides = array<i64: 1024>}
// CHECK: nvvm.cp.async.bulk.tensor
// CHECK: bp.tensor_map = {binding = 1 : i64, block = array<i64: 64, 64>, bytes = 2 : i64, sizes = array<i64: 4096, 512>, strides = array<i64: 8192>}
// CHECK-COUNT-4: nvvm.cp.async.bulk.tensor
// CHECK: scf.for
// CHECK: mbarrier.try_wait.parity
// CHECK-NEXT: gpu.barrier
// CHECK: llvm.inline_asm has_side_effects "wgmma.fence.sync.aligned;"
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {{.*}}, p, 1, 1, 0, 1;
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK-COUNT-5: nvvm.cp.async.bulk.tensor
// CHECK: nvvm.wgmma.wait.group.sync.aligned 1
// CHECK: scf.yield
// CHECK: llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;"
func.func @large(%a: tensor<4096x512xbf16>, %b: tensor<512x4096xbf16>,
                 %out: tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %c = linalg.matmul ins(%a, %b : tensor<4096x512xbf16>, tensor<512x4096xbf16>) outs(%f : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %c : tensor<4096x4096xf32>
}
}

// -----

// Few tiles: the smallest, for one warp group, in memory that needs no asking.
module attributes {bp.target = {group_threads = 128 : i64, shared_bytes = 49152 : i64, max_group_threads = 1024 : i64, max_shared_bytes = 232448 : i64, subgroup_sizes = array<i64: 32>, matrix_shapes.f16 = array<i64: 16, 8, 16, 64, 256, 16, 64, 128, 16, 64, 64, 16>}} {
// CHECK-LABEL: func.func @few
// CHECK-SAME: bp.group_threads = 128 : i64
// CHECK: scf.forall {{.*}} in (16)
// CHECK: memref.alloc() {bp.dynamic} : memref<12294xi32, #gpu.address_space<workgroup>>
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
func.func @few(%a: tensor<256x256xf16>, %b: tensor<256x256xf16>,
               %out: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<256x256xf32>) -> tensor<256x256xf32>
  %c = linalg.matmul ins(%a, %b : tensor<256x256xf16>, tensor<256x256xf16>) outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %c : tensor<256x256xf32>
}
}

// -----

// Few rows, and lines that no copy can take, are for fragments.
module attributes {bp.target = {group_threads = 128 : i64, shared_bytes = 49152 : i64, max_group_threads = 1024 : i64, max_shared_bytes = 232448 : i64, subgroup_sizes = array<i64: 32>, matrix_shapes.f16 = array<i64: 16, 8, 16, 64, 64, 16>}} {
// CHECK-LABEL: func.func @rows
// CHECK-NOT: wgmma
// CHECK: nvvm.mma.sync
// CHECK-LABEL: func.func @odd
// CHECK-NOT: wgmma
// CHECK: nvvm.mma.sync
func.func @rows(%a: tensor<32x256xf16>, %b: tensor<256x256xf16>,
                %out: tensor<32x256xf32>) -> tensor<32x256xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<32x256xf32>) -> tensor<32x256xf32>
  %c = linalg.matmul ins(%a, %b : tensor<32x256xf16>, tensor<256x256xf16>) outs(%f : tensor<32x256xf32>) -> tensor<32x256xf32>
  return %c : tensor<32x256xf32>
}
func.func @odd(%a: tensor<256x255xf16>, %b: tensor<255x256xf16>,
               %out: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<256x256xf32>) -> tensor<256x256xf32>
  %c = linalg.matmul ins(%a, %b : tensor<256x255xf16>, tensor<255x256xf16>) outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %c : tensor<256x256xf32>
}
}

// -----

// A tensor whose sizes a call tells has no description: lanes copy its lines.
module attributes {bp.target = {group_threads = 128 : i64, shared_bytes = 49152 : i64, max_group_threads = 1024 : i64, max_shared_bytes = 232448 : i64, subgroup_sizes = array<i64: 32>, matrix_shapes.f16 = array<i64: 16, 8, 16, 64, 64, 16>}} {
// CHECK-LABEL: func.func @symbolic
// CHECK-NOT: mbarrier
// CHECK: nvvm.cp.async.commit.group
// CHECK: scf.for
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: gpu.barrier
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
func.func @symbolic(%a: tensor<?x256xf16>, %b: tensor<256x256xf16>,
                    %out: tensor<?x256xf32>) -> tensor<?x256xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<?x256xf32>) -> tensor<?x256xf32>
  %c = linalg.matmul ins(%a, %b : tensor<?x256xf16>, tensor<256x256xf16>) outs(%f : tensor<?x256xf32>) -> tensor<?x256xf32>
  return %c : tensor<?x256xf32>
}
}

// -----

// A loop that is two axes is no tensor whose lines follow each other.
module attributes {bp.target = {group_threads = 128 : i64, shared_bytes = 49152 : i64, max_group_threads = 1024 : i64, max_shared_bytes = 232448 : i64, subgroup_sizes = array<i64: 32>, matrix_shapes.f16 = array<i64: 16, 8, 16, 64, 64, 16>}} {
// CHECK-LABEL: func.func @diagonal
// CHECK-NOT: bp.tensor_map
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
// CHECK-NOT: bp.tensor_map
func.func @diagonal(%a: tensor<256x256x64xf16>, %b: tensor<64x256xf16>,
                    %out: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<256x256xf32>) -> tensor<256x256xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<256x256x64xf16>, tensor<64x256xf16>) outs(%f : tensor<256x256xf32>) {
  ^bb0(%x: f16, %w: f16, %s: f32):
    %xf = arith.extf %x : f16 to f32
    %wf = arith.extf %w : f16 to f32
    %p = arith.mulf %xf, %wf : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<256x256xf32>
  return %c : tensor<256x256xf32>
}
}
