// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-gpu-target="group-size=256 cluster-size=16 shared-bytes=49152 grid-width=1024" -bp-bind-buffers -bp-gpu-contract -bp-gpu-reduce=subgroups=true -bp-per-element -bp-bufferize -bp-expand-math -bp-to-gpu-entry -split-input-file | FileCheck %s
// RUN: not bp-opt %s -bp-gpu-target=group-size=100 2>&1 | FileCheck %s --check-prefix=GROUP
// RUN: not bp-opt %s -bp-gpu-target=shared-bytes=1024 2>&1 | FileCheck %s --check-prefix=SHARED

// GROUP: error: the GPU's group-size is 100; it must be a power of two from 32 to 256
// SHARED: error: the GPU's shared-bytes is 1024; it must be from 16384 to 1048576

// A work-group of 16 by 16 invocations has a tile of 128 by 64: 32 KiB.
// CHECK: bp.gpu = {"cluster-size" = 16 : i64, "grid-width" = 1024 : i64, "group-size" = 256 : i64
// CHECK-LABEL: func.func @product
// CHECK: memref.alloc() : memref<8192xf32, #gpu.address_space<workgroup>>
func.func @product(%a: tensor<256x64xf32>, %b: tensor<64x128xf32>,
                   %out: tensor<256x128xf32>) -> tensor<256x128xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<256x128xf32>) -> tensor<256x128xf32>
  %c = linalg.matmul ins(%a, %b : tensor<256x64xf32>, tensor<64x128xf32>) outs(%f : tensor<256x128xf32>) -> tensor<256x128xf32>
  return %c : tensor<256x128xf32>
}

// -----

// 16 clusters of 16: four exchanges in a cluster.
// CHECK-LABEL: func.func @sums
// CHECK: memref.alloc() : memref<16xi32, #gpu.address_space<workgroup>>
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
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

// -----

// CHECK: grid = ["1024", "4", "1"]
// CHECK-SAME: workgroup = [256, 1, 1]
func.func @many(%x: tensor<1048576xi64>, %out: tensor<1048576xi64>) -> tensor<1048576xi64>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<1048576xi64>) outs(%out : tensor<1048576xi64>) {
  ^bb0(%v: i64, %o: i64):
    %t = arith.addi %v, %v : i64
    linalg.yield %t : i64
  } -> tensor<1048576xi64>
  return %r : tensor<1048576xi64>
}
