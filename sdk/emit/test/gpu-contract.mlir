// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-contract -split-input-file -verify-diagnostics | FileCheck %s
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-contract -bp-per-element -bp-bufferize -bp-expand-math -bp-to-gpu-entry -split-input-file | FileCheck %s --check-prefix=ENTRY

// A work-group has 64 x 64 elements of C, and each invocation 8 x 4 sums. Rows
// beyond the edge are zero, nothing is stored for them; 64 columns fit.
// CHECK-LABEL: func.func @matmul(
// CHECK-SAME: %[[A:.*]]: memref<100x40xf32>{{.*}}, %[[B:.*]]: memref<40x128xf32>{{.*}}, %[[BIAS:.*]]: memref<128xf32>{{.*}}, %[[OUT:.*]]: memref<100x128xf32>
// CHECK: scf.forall (%{{.*}}) in (4) {
// CHECK: memref.alloc() : memref<4096xf32, #gpu.address_space<workgroup>>
// CHECK: %[[SUMS:.*]]:32 = scf.for %{{.*}} = %c0 to %c40 step %c16
// CHECK: gpu.barrier
// CHECK: arith.cmpi ult, %{{.*}}, %c100
// CHECK: arith.cmpi ult, %{{.*}}, %c40
// CHECK: scf.if
// CHECK: memref.load %[[A]]
// CHECK: scf.yield %cst
// CHECK: arith.cmpi ult, %{{.*}}, %c40
// CHECK: memref.load %[[B]]
// CHECK: gpu.barrier
// CHECK: scf.for %{{.*}} = %c0 to %c16 step %c4
// CHECK-COUNT-128: arith.addf
// CHECK: gpu.barrier
// CHECK-COUNT-32: memref.store %[[SUMS]]
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: arith.cmpi ult, %{{.*}}, %c100
// CHECK: scf.if
// CHECK: %[[C:.*]] = memref.load %{{.*}} : memref<4096xf32, #gpu.address_space<workgroup>>
// CHECK: %[[V:.*]] = memref.load %[[BIAS]]
// CHECK: %[[R:.*]] = arith.addf %[[C]], %[[V]]
// CHECK: memref.store %[[R]], %[[OUT]]
// CHECK: mapping = [#gpu.block<linear_dim_0>]
// CHECK-NOT: linalg

// ENTRY: bp.entry = {access = [1, 1, 1, 2], {{.*}}grid = ["4", "1", "1"], {{.*}}workgroup = [128, 1, 1]
// ENTRY-LABEL: func.func @matmul(
// ENTRY: gpu.block_id x
// ENTRY: memref.alloc() : memref<4096xf32, #gpu.address_space<workgroup>>
func.func @matmul(%a: tensor<100x40xf32>, %b: tensor<40x128xf32>,
                  %bias: tensor<128xf32>, %out: tensor<100x128xf32>)
    -> tensor<100x128xf32> attributes {bp.inputs = 3 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<100x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<100x128xf32>) -> tensor<100x128xf32>
  %c = linalg.matmul ins(%a, %b : tensor<100x40xf32>, tensor<40x128xf32>) outs(%f : tensor<100x128xf32>) -> tensor<100x128xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%c, %bias : tensor<100x128xf32>, tensor<128xf32>) outs(%out : tensor<100x128xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    linalg.yield %t : f32
  } -> tensor<100x128xf32>
  return %r : tensor<100x128xf32>
}

// -----

// A convolution with padding: pixels are columns, k is channel and window. The
// weight is read along k, into rows that lie 17 apart.
// CHECK-LABEL: func.func @conv(
// CHECK: scf.forall (%{{.*}}) in (3) {
// CHECK: memref.alloc() : memref<{{.*}}xf32, #gpu.address_space<workgroup>>
// CHECK: scf.for %{{.*}} = %c0 to %c72 step %c16
// CHECK: arith.muli %{{.*}}, %c17
// CHECK: affine.delinearize_index %{{.*}} into (8, 3, 3)
func.func @conv(%w: tensor<16x8x3x3xf32>, %x: tensor<1x8x12x12xf32>,
                %out: tensor<1x16x12x12xf32>) -> tensor<1x16x12x12xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x8x12x12xf32> to tensor<1x8x14x14xf32>
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x16x12x12xf32>) -> tensor<1x16x12x12xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, o, h, v, c, y, x) -> (o, c, y, x)>, affine_map<(n, o, h, v, c, y, x) -> (n, c, h + y, v + x)>, affine_map<(n, o, h, v, c, y, x) -> (n, o, h, v)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%w, %p : tensor<16x8x3x3xf32>, tensor<1x8x14x14xf32>) outs(%f : tensor<1x16x12x12xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x16x12x12xf32>
  return %r : tensor<1x16x12x12xf32>
}

// -----

// Sizes that calls choose; narrow elements are widened on the way to the tile;
// one matrix of each batch is a loop of work-groups.
// CHECK-LABEL: func.func @batches(
// CHECK-SAME: %[[A:.*]]: memref<?x?x32xi8>
// CHECK: arith.ceildivui %{{.*}}, %c32
// CHECK: scf.forall (%{{.*}}) in (%{{.*}}) {
// CHECK: memref.alloc() : memref<{{.*}}xi32, #gpu.address_space<workgroup>>
// CHECK: %[[X:.*]] = memref.load %[[A]]
// CHECK: %[[W:.*]] = arith.extsi %[[X]] : i8 to i32
// CHECK: scf.yield %[[W]]
// CHECK: arith.muli %{{.*}} : i32
// ENTRY: grid = ["min(
// ENTRY-LABEL: func.func @batches(
func.func @batches(%a: tensor<?x?x32xi8> {bp.dims = ["b", "m", "32"]},
                   %b: tensor<?x32x48xi8> {bp.dims = ["b", "32", "48"]},
                   %out: tensor<?x?x48xi32> {bp.dims = ["b", "m", "48"]},
                   %nb: index, %nm: index) -> tensor<?x?x48xi32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64, bp.symbols = ["b", "m"]} {
  %zero = arith.constant 0 : i32
  %e = tensor.empty(%nb, %nm) : tensor<?x?x48xi32>
  %f = linalg.fill ins(%zero : i32) outs(%e : tensor<?x?x48xi32>) -> tensor<?x?x48xi32>
  %r = linalg.batch_matmul ins(%a, %b : tensor<?x?x32xi8>, tensor<?x32x48xi8>) outs(%f : tensor<?x?x48xi32>) -> tensor<?x?x48xi32>
  return %r : tensor<?x?x48xi32>
}

// -----

// A depth that is not known may be long: copies take no turns of their own.
// CHECK-LABEL: func.func @depth(
// CHECK: %[[K:.*]] = memref.dim %{{.*}}, %c1
// CHECK: scf.for %{{.*}} = %c0 to %[[K]] step %c16
// CHECK-NOT: scf.for
// CHECK: memref.store
// CHECK-NOT: scf.for
// CHECK: scf.for %{{.*}} = %c0 to %c16 step %c4
func.func @depth(%a: tensor<64x?xf32> {bp.dims = ["64", "k"]},
                 %b: tensor<?x64xf32> {bp.dims = ["k", "64"]},
                 %out: tensor<64x64xf32> {bp.dims = ["64", "64"]}, %k: index)
    -> tensor<64x64xf32> attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64, bp.symbols = ["k"]} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x?xf32>, tensor<?x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// -----

// Left alone: a result that is moved behind the product, sums of each channel
// by itself, tiles that would be empty.
// CHECK-LABEL: func.func @transposed(
// CHECK-NOT: scf.forall
func.func @transposed(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>,
                      %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.transpose ins(%c : tensor<64x64xf32>) outs(%out : tensor<64x64xf32>) permutation = [1, 0]
  return %r : tensor<64x64xf32>
}

// -----

// CHECK-LABEL: func.func @depthwise(
// CHECK-NOT: scf.forall
func.func @depthwise(%w: tensor<32x9xf32>, %x: tensor<32x72xf32>,
                     %out: tensor<32x64xf32>) -> tensor<32x64xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<32x64xf32>) -> tensor<32x64xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(c, i, k) -> (c, k)>, affine_map<(c, i, k) -> (c, i + k)>, affine_map<(c, i, k) -> (c, i)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%w, %x : tensor<32x9xf32>, tensor<32x72xf32>) outs(%f : tensor<32x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}

// -----

// CHECK-LABEL: func.func @row(
// CHECK-NOT: scf.forall
func.func @row(%a: tensor<1x64xf32>, %b: tensor<64x64xf32>,
               %out: tensor<1x64xf32>) -> tensor<1x64xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x64xf32>) -> tensor<1x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<1x64xf32>, tensor<64x64xf32>) outs(%f : tensor<1x64xf32>) -> tensor<1x64xf32>
  return %r : tensor<1x64xf32>
}
