// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-contract=matrix-unit=gpu -split-input-file | FileCheck %s

// Lines lie in memory of the work-group as they are, 16 bytes behind each:
// those of A are rows of 32 halves, those of B rows of 128. Subgroups are told
// apart by their own number. Sums go to the same memory, a row of matrices at a
// time. What is read of the next blocks is held while these are multiplied.
module attributes {bp.target = {group_threads = 128 : i64, max_shared_bytes = 49152 : i64, subgroup_sizes = array<i64: 8, 32>, matrix_shapes.f16 = array<i64: 16, 16, 16>}} {
// CHECK-LABEL: func.func @halves
// CHECK-SAME: %[[A:.*]]: memref<2048x512xf16>
// CHECK: memref.alloc() : memref<7424xi32, #gpu.address_space<workgroup>>
// CHECK: gpu.subgroup_id
// CHECK: gpu.subgroup_mma_constant_matrix %{{.*}} : !gpu.mma_matrix<16x16xf32, "COp">
// CHECK: scf.for {{.*}} iter_args
// CHECK-NEXT: arith.divui
// CHECK-NEXT: gpu.barrier
// CHECK: %[[NEXT:.*]]:24 = scf.if
// CHECK: memref.load %[[A]]
// CHECK-COUNT-4: gpu.subgroup_mma_load_matrix {{.*}} {leadDimension = 20 : index} : memref<7424xi32, #gpu.address_space<workgroup>> -> !gpu.mma_matrix<16x16xf16, "AOp">
// CHECK-COUNT-2: gpu.subgroup_mma_load_matrix {{.*}} {leadDimension = 36 : index} : memref<7424xi32, #gpu.address_space<workgroup>> -> !gpu.mma_matrix<16x16xf16, "BOp">
// CHECK-COUNT-8: gpu.subgroup_mma_compute {{.*}} : !gpu.mma_matrix<16x16xf16, "AOp">, !gpu.mma_matrix<16x16xf16, "BOp"> -> !gpu.mma_matrix<16x16xf32, "COp">
// CHECK: memref.store %[[NEXT]]#0, {{.*}} : memref<7424xi32, #gpu.address_space<workgroup>>
// CHECK: gpu.barrier
// CHECK-COUNT-2: gpu.subgroup_mma_store_matrix {{.*}} {leadDimension = 72 : index} : !gpu.mma_matrix<16x16xf32, "COp">
// CHECK-NEXT: gpu.barrier
// CHECK: memref.load {{.*}} : memref<7424xi32, #gpu.address_space<workgroup>>
// CHECK-NOT: arith.mulf
func.func @halves(%a: tensor<2048x512xf16>, %b: tensor<512x512xf16>,
                  %out: tensor<2048x512xf32>) -> tensor<2048x512xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<2048x512xf32>) -> tensor<2048x512xf32>
  %c = linalg.matmul ins(%a, %b : tensor<2048x512xf16>, tensor<512x512xf16>) outs(%f : tensor<2048x512xf32>) -> tensor<2048x512xf32>
  return %c : tensor<2048x512xf32>
}
}

// -----

// Of a transposed factor, lines are columns: those of A along m, those of B
// along k.
module attributes {bp.target = {max_shared_bytes = 49152 : i64, matrix_shapes.f16 = array<i64: 16, 16, 16>}} {
// CHECK-LABEL: func.func @transposed
// CHECK: gpu.subgroup_mma_load_matrix {{.*}}transpose{{.*}} -> !gpu.mma_matrix<16x16xf16, "AOp">
// CHECK: gpu.subgroup_mma_load_matrix {{.*}}transpose{{.*}} -> !gpu.mma_matrix<16x16xf16, "BOp">
func.func @transposed(%a: tensor<3x64x128xf16>, %b: tensor<3x256x64xf16>,
                      %out: tensor<3x128x256xf32>) -> tensor<3x128x256xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<3x128x256xf32>) -> tensor<3x128x256xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(i, m, n, k) -> (i, k, m)>, affine_map<(i, m, n, k) -> (i, n, k)>, affine_map<(i, m, n, k) -> (i, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<3x64x128xf16>, tensor<3x256x64xf16>) outs(%f : tensor<3x128x256xf32>) {
  ^bb0(%x: f16, %y: f16, %s: f32):
    %u = arith.extf %x : f16 to f32
    %v = arith.extf %y : f16 to f32
    %p = arith.mulf %u, %v : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<3x128x256xf32>
  return %c : tensor<3x128x256xf32>
}
}

// -----

// Rows of odd length come two elements at a time, zeros beyond the edges; what
// is behind the sums reads them from memory.
module attributes {bp.target = {max_shared_bytes = 49152 : i64, matrix_shapes.f16 = array<i64: 16, 16, 16>}} {
// CHECK-LABEL: func.func @odd
// CHECK: scf.if {{.*}} -> (f16)
// CHECK: memref.load {{.*}} : memref<65x35xf16>
// CHECK: arith.shli
// CHECK: gpu.subgroup_mma_compute
// CHECK: gpu.subgroup_mma_store_matrix
// CHECK: arith.maximumf
// CHECK: arith.truncf {{.*}} : f32 to f16
func.func @odd(%a: tensor<65x35xf16>, %b: tensor<35x67xf16>,
               %out: tensor<65x67xf16>) -> tensor<65x67xf16>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<65x67xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<65x67xf32>) -> tensor<65x67xf32>
  %c = linalg.matmul ins(%a, %b : tensor<65x35xf16>, tensor<35x67xf16>) outs(%f : tensor<65x67xf32>) -> tensor<65x67xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<65x67xf32>) outs(%out : tensor<65x67xf16>) {
  ^bb0(%v: f32, %o: f16):
    %m = arith.maximumf %v, %zero : f32
    %h = arith.truncf %m : f32 to f16
    linalg.yield %h : f16
  } -> tensor<65x67xf16>
  return %r : tensor<65x67xf16>
}
}

// -----

// A target that lists another shape has tiles.
module attributes {bp.target = {max_shared_bytes = 49152 : i64, matrix_shapes.f16 = array<i64: 16, 8, 16>}} {
// CHECK-LABEL: func.func @unlisted
// CHECK-NOT: gpu.subgroup_
// CHECK: arith.mulf
func.func @unlisted(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>,
                    %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = linalg.matmul ins(%a, %b : tensor<64x64xf16>, tensor<64x64xf16>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %c : tensor<64x64xf32>
}
}

// -----

// So have factors of f32 and bf16.
module attributes {bp.target = {max_shared_bytes = 49152 : i64, matrix_shapes.f16 = array<i64: 16, 16, 16>, matrix_shapes.bf16 = array<i64: 16, 16, 16>, matrix_shapes.f32 = array<i64: 16, 16, 16>}} {
// CHECK-LABEL: func.func @wide
// CHECK-NOT: gpu.subgroup_
// CHECK: arith.mulf
func.func @wide(%a: tensor<64x64xbf16>, %b: tensor<64x64xf32>,
                %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = linalg.matmul ins(%a, %b : tensor<64x64xbf16>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %c : tensor<64x64xf32>
}
}

// -----

// Two rows are left to sums of subgroups.
module attributes {bp.target = {max_shared_bytes = 49152 : i64, matrix_shapes.f16 = array<i64: 16, 16, 16>}} {
// CHECK-LABEL: func.func @few
// CHECK: linalg.
func.func @few(%a: tensor<2x64xf16>, %b: tensor<64x64xf16>,
               %out: tensor<2x64xf32>) -> tensor<2x64xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<2x64xf32>) -> tensor<2x64xf32>
  %c = linalg.matmul ins(%a, %b : tensor<2x64xf16>, tensor<64x64xf16>) outs(%f : tensor<2x64xf32>) -> tensor<2x64xf32>
  return %c : tensor<2x64xf32>
}
}
