// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-rows -split-input-file | FileCheck %s

#full = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A row of 256 is for the 32 invocations of a cluster, four rows are for a
// work-group. Each element is read once: 8 by an invocation, in two neighbouring
// fours. Sums meet by shuffles, without memory.
module attributes {bp.target = {group_threads = 128 : i64, max_group_threads = 1024 : i64, subgroup_sizes = array<i64: 32>}} {
// CHECK-LABEL: func.func @softmax
// CHECK: scf.forall {{.*}} in (3)
// CHECK-NOT: memref.alloc
// CHECK-COUNT-8: memref.load %{{.*}} : memref<10x256xf32>
// CHECK-NOT: memref.load
// CHECK-COUNT-5: gpu.shuffle  xor
// CHECK: math.exp
// CHECK-COUNT-5: gpu.shuffle  xor
// CHECK-NOT: math.exp
// CHECK: arith.divf
// CHECK: scf.if
// CHECK-COUNT-4: memref.store
func.func @softmax(%x: tensor<10x256xf32>, %out: tensor<10x256xf32>) -> tensor<10x256xf32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<10xf32>
  %f = linalg.fill ins(%least : f32) outs(%e : tensor<10xf32>) -> tensor<10xf32>
  %max = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<10x256xf32>) outs(%f : tensor<10xf32>) {
  ^bb0(%i: f32, %s: f32):
    %r = arith.maximumf %s, %i : f32
    linalg.yield %r : f32
  } -> tensor<10xf32>
  %e2 = tensor.empty() : tensor<10x256xf32>
  %exp = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%x, %max : tensor<10x256xf32>, tensor<10xf32>) outs(%e2 : tensor<10x256xf32>) {
  ^bb0(%i: f32, %m: f32, %o: f32):
    %d = arith.subf %i, %m : f32
    %r = math.exp %d : f32
    linalg.yield %r : f32
  } -> tensor<10x256xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<10xf32>) -> tensor<10xf32>
  %sum = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%exp : tensor<10x256xf32>) outs(%z : tensor<10xf32>) {
  ^bb0(%i: f32, %s: f32):
    %r = arith.addf %s, %i : f32
    linalg.yield %r : f32
  } -> tensor<10xf32>
  %y = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum : tensor<10x256xf32>, tensor<10xf32>) outs(%out : tensor<10x256xf32>) {
  ^bb0(%i: f32, %s: f32, %o: f32):
    %r = arith.divf %i, %s : f32
    linalg.yield %r : f32
  } -> tensor<10x256xf32>
  return %y : tensor<10x256xf32>
}
}

// -----

#full = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// 40000 elements are more than 1024 invocations keep: they read them again. Sums
// of clusters meet in memory. A result of rows is stored by one invocation.
module attributes {bp.target = {group_threads = 128 : i64, max_group_threads = 1024 : i64, subgroup_sizes = array<i64: 32>}} {
// CHECK-LABEL: func.func @long
// CHECK-SAME: bp.group_threads = 1024 : i64
// CHECK: scf.forall {{.*}} in (3)
// CHECK: scf.for
// CHECK: memref.load
// CHECK: gpu.shuffle
// CHECK: memref.alloc() : memref<32xf32, #gpu.address_space<workgroup>>
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: memref.load
// CHECK: memref.store {{.*}} : memref<3x40000xf32>
// CHECK: memref.store {{.*}} : memref<3xf32>
func.func @long(%x: tensor<3x40000xf32>, %out: tensor<3x40000xf32>, %sums: tensor<3xf32>) -> (tensor<3x40000xf32>, tensor<3xf32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%sums : tensor<3xf32>) -> tensor<3xf32>
  %sum = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x40000xf32>) outs(%z : tensor<3xf32>) {
  ^bb0(%i: f32, %s: f32):
    %r = arith.addf %s, %i : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  %y = linalg.generic {indexing_maps = [#full, #row, #full], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<3x40000xf32>, tensor<3xf32>) outs(%out : tensor<3x40000xf32>) {
  ^bb0(%i: f32, %s: f32, %o: f32):
    %r = arith.divf %i, %s : f32
    linalg.yield %r : f32
  } -> tensor<3x40000xf32>
  return %y, %sum : tensor<3x40000xf32>, tensor<3xf32>
}
}

// -----

#full = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// An element of the result that needs the sum of another row, and a sum alone,
// are no rows.
module attributes {bp.target = {group_threads = 128 : i64, max_group_threads = 1024 : i64, subgroup_sizes = array<i64: 32>}} {
// CHECK-LABEL: func.func @other_rows
// CHECK-NOT: scf.forall
// CHECK-LABEL: func.func @sum
// CHECK-NOT: scf.forall
func.func @other_rows(%x: tensor<64x64xf32>, %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x64xf32>) outs(%z : tensor<64xf32>) {
  ^bb0(%i: f32, %s: f32):
    %r = arith.addf %s, %i : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#full, affine_map<(d0, d1) -> (d1)>, #full], iterator_types = ["parallel", "parallel"]} ins(%x, %sum : tensor<64x64xf32>, tensor<64xf32>) outs(%out : tensor<64x64xf32>) {
  ^bb0(%i: f32, %s: f32, %o: f32):
    %r = arith.divf %i, %s : f32
    linalg.yield %r : f32
  } -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
func.func @sum(%x: tensor<64x64xf32>, %out: tensor<64xf32>) -> tensor<64xf32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %z = linalg.fill ins(%zero : f32) outs(%out : tensor<64xf32>) -> tensor<64xf32>
  %sum = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x64xf32>) outs(%z : tensor<64xf32>) {
  ^bb0(%i: f32, %s: f32):
    %r = arith.addf %s, %i : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  return %sum : tensor<64xf32>
}
}

// -----

// All of a vector is one row.
module attributes {bp.target = {group_threads = 128 : i64, max_group_threads = 1024 : i64, subgroup_sizes = array<i64: 32>}} {
// CHECK-LABEL: func.func @vector
// CHECK: scf.forall {{.*}} in (1)
// CHECK-COUNT-16: memref.load %{{.*}} : memref<512xf32>
// CHECK-NOT: memref.load %{{.*}} : memref<512xf32>
func.func @vector(%x: tensor<512xf32>, %out: tensor<512xf32>) -> tensor<512xf32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %sum = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<512xf32>) outs(%z : tensor<f32>) {
  ^bb0(%i: f32, %s: f32):
    %r = arith.addf %s, %i : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%x, %sum : tensor<512xf32>, tensor<f32>) outs(%out : tensor<512xf32>) {
  ^bb0(%i: f32, %s: f32, %o: f32):
    %r = arith.divf %i, %s : f32
    linalg.yield %r : f32
  } -> tensor<512xf32>
  return %y : tensor<512xf32>
}
}
