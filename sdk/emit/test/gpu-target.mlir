// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-contract -bp-gpu-reduce=subgroups=true -bp-per-element -bp-bufferize -bp-expand-math -bp-to-gpu-entry -split-input-file | FileCheck %s

// A work-group of 16 by 16 invocations has a tile of 128 by 64: 32 KiB.
// CHECK-LABEL: func.func @product
// CHECK: memref.alloc() : memref<8192xf32, #gpu.address_space<workgroup>>
module attributes {bp.target = {group_threads = 256 : i64, shared_bytes = 49152 : i64}} {
func.func @product(%a: tensor<256x64xf32>, %b: tensor<64x128xf32>,
                   %out: tensor<256x128xf32>) -> tensor<256x128xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<256x128xf32>) -> tensor<256x128xf32>
  %c = linalg.matmul ins(%a, %b : tensor<256x64xf32>, tensor<64x128xf32>) outs(%f : tensor<256x128xf32>) -> tensor<256x128xf32>
  return %c : tensor<256x128xf32>
}
}

// -----

// 16 clusters of 16: four exchanges in a cluster.
// CHECK-LABEL: func.func @sums
// CHECK: memref.alloc() : memref<16xi32, #gpu.address_space<workgroup>>
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
module attributes {bp.target = {group_threads = 256 : i64, subgroup_sizes = array<i64: 32, 16>}} {
func.func @sums(%x: tensor<2x1024xi32>, %out: tensor<2xi32>) -> tensor<2xi32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %start = arith.constant 0 : i32
  %f = linalg.fill ins(%start : i32) outs(%out : tensor<2xi32>) -> tensor<2xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x1024xi32>) outs(%f : tensor<2xi32>) {
  ^bb0(%v: i32, %o: i32):
    %t = arith.addi %o, %v : i32
    linalg.yield %t : i32
  } -> tensor<2xi32>
  return %r : tensor<2xi32>
}
}

// -----

// CHECK: grid = ["1024", "4", "1"]
// CHECK-SAME: workgroup = [256, 1, 1]
module attributes {bp.target = {group_threads = 256 : i64, grid_width = 1024 : i64}} {
func.func @many(%x: tensor<1048576xi64>, %out: tensor<1048576xi64>) -> tensor<1048576xi64>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<1048576xi64>) outs(%out : tensor<1048576xi64>) {
  ^bb0(%v: i64, %o: i64):
    %t = arith.addi %v, %v : i64
    linalg.yield %t : i64
  } -> tensor<1048576xi64>
  return %r : tensor<1048576xi64>
}
}

// -----

// An invocation has 2 by 2 sums, a work-group of 16 by 16 a tile of 32 by 32.
// CHECK: grid = ["32", "1", "1"]
// CHECK-LABEL: func.func @small
// CHECK: memref.alloc() : memref<1040xf32, #gpu.address_space<workgroup>>
module attributes {bp.target = {group_threads = 256 : i64, tile_sizes = array<i64: 2, 2>}} {
func.func @small(%a: tensor<256x64xf32>, %b: tensor<64x128xf32>,
                 %out: tensor<256x128xf32>) -> tensor<256x128xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<256x128xf32>) -> tensor<256x128xf32>
  %c = linalg.matmul ins(%a, %b : tensor<256x64xf32>, tensor<64x128xf32>) outs(%f : tensor<256x128xf32>) -> tensor<256x128xf32>
  return %c : tensor<256x128xf32>
}
}

// -----

// More than four columns of sums are for large products: 512 tiles of 64 by 128,
// but of 64 by 64 where those would be 128.
// CHECK: grid = ["512", "1", "1"]
// CHECK-LABEL: func.func @large
module attributes {bp.target = {group_threads = 128 : i64, shared_bytes = 49152 : i64, tile_sizes = array<i64: 8, 8>}} {
func.func @large(%a: tensor<2048x64xf32>, %b: tensor<64x2048xf32>,
                 %out: tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  %c = linalg.matmul ins(%a, %b : tensor<2048x64xf32>, tensor<64x2048xf32>) outs(%f : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  return %c : tensor<2048x2048xf32>
}
}

// -----

// CHECK: grid = ["256", "1", "1"]
// CHECK-LABEL: func.func @medium
module attributes {bp.target = {group_threads = 128 : i64, shared_bytes = 49152 : i64, tile_sizes = array<i64: 8, 8>}} {
func.func @medium(%a: tensor<1024x64xf32>, %b: tensor<64x1024xf32>,
                  %out: tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %c = linalg.matmul ins(%a, %b : tensor<1024x64xf32>, tensor<64x1024xf32>) outs(%f : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %c : tensor<1024x1024xf32>
}
}
