// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-contract=matrix-unit=nvvm -split-input-file | FileCheck %s

// Lines of whole pieces are copied without registers, two blocks ahead. Rows of
// B lie along n: its fragments are transposed when they are loaded.
module attributes {bp.target = {group_threads = 128 : i64, shared_bytes = 49152 : i64, subgroup_sizes = array<i64: 32>, matrix_shapes.bf16 = array<i64: 16, 8, 16>}} {
// CHECK-LABEL: func.func @halves
// CHECK: memref.alloc() : memref<6144xi32, #gpu.address_space<workgroup>>
// CHECK: nvvm.cp.async.shared.global {{.*}}, 16, cache =  cg
// CHECK: nvvm.cp.async.commit.group
// CHECK: scf.for
// CHECK: nvvm.cp.async.wait.group 1
// CHECK-NEXT: gpu.barrier
// CHECK: scf.if
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 4
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>, num = 4
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>{{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK-NOT: arith.mulf
func.func @halves(%a: tensor<1024x512xbf16>, %b: tensor<512x512xbf16>,
                  %out: tensor<1024x512xf32>) -> tensor<1024x512xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1024x512xf32>) -> tensor<1024x512xf32>
  %c = linalg.matmul ins(%a, %b : tensor<1024x512xbf16>, tensor<512x512xbf16>) outs(%f : tensor<1024x512xf32>) -> tensor<1024x512xf32>
  return %c : tensor<1024x512xf32>
}
}

// -----

// Rows of odd length come by registers, two elements in a word, zeros beyond
// the edges.
module attributes {bp.target = {subgroup_sizes = array<i64: 32>, matrix_shapes.f16 = array<i64: 16, 8, 16>}} {
// CHECK-LABEL: func.func @odd
// CHECK-NOT: nvvm.cp.async
// CHECK: memref.load {{.*}} : memref<65x35xf16>
// CHECK: arith.bitcast {{.*}} : f16 to i16
// CHECK: arith.shli
// CHECK: nvvm.mma.sync
func.func @odd(%a: tensor<65x35xf16>, %b: tensor<35x67xf16>,
               %out: tensor<65x67xf32>) -> tensor<65x67xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<65x67xf32>) -> tensor<65x67xf32>
  %c = linalg.matmul ins(%a, %b : tensor<65x35xf16>, tensor<35x67xf16>) outs(%f : tensor<65x67xf32>) -> tensor<65x67xf32>
  return %c : tensor<65x67xf32>
}
}

// -----

// Bytes: signed by those of a factor; sums wrap. Lines are along k for both.
module attributes {bp.target = {subgroup_sizes = array<i64: 32>, matrix_shapes.u8 = array<i64: 16, 8, 32>}} {
// CHECK-LABEL: func.func @bytes
// CHECK-NOT: layout = #nvvm.mma_layout<col>, num
// CHECK: nvvm.mma.sync {{.*}}intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>{{.*}}multiplicandAPtxType = #nvvm.mma_type<u8>, multiplicandBPtxType = #nvvm.mma_type<s8>{{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 32>
func.func @bytes(%a: tensor<64x128xi8>, %b: tensor<128x64xi8>,
                 %out: tensor<64x64xi32>) -> tensor<64x64xi32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : i32
  %f = linalg.fill ins(%zero : i32) outs(%out : tensor<64x64xi32>) -> tensor<64x64xi32>
  %c = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<64x128xi8>, tensor<128x64xi8>) outs(%f : tensor<64x64xi32>) {
  ^bb0(%x: i8, %y: i8, %s: i32):
    %u = arith.extui %x : i8 to i32
    %v = arith.extsi %y : i8 to i32
    %p = arith.muli %u, %v : i32
    %t = arith.addi %s, %p : i32
    linalg.yield %t : i32
  } -> tensor<64x64xi32>
  return %c : tensor<64x64xi32>
}
}

// -----

// An f32 is a factor where the target says so, rounded when it is multiplied.
// Rows of B lie along n and stay so: no load transposes elements of 32 bits.
module attributes {bp.target = {group_threads = 128 : i64, shared_bytes = 49152 : i64, subgroup_sizes = array<i64: 32>, matrix_shapes.f32 = array<i64: 16, 8, 8>}} {
// CHECK-LABEL: func.func @singles
// CHECK: nvvm.cp.async.shared.global {{.*}}, 16, cache =  cg
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>, num = 4
// CHECK-NOT: nvvm.ldmatrix
// CHECK: nvvm.convert.float.to.tf32 {{.*}}rnd = #nvvm.fp_rnd_mode<rna>
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>{{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 8>
// CHECK-NOT: arith.mulf
func.func @singles(%a: tensor<256x512xf32>, %b: tensor<512x256xf32>,
                   %out: tensor<256x256xf32>) -> tensor<256x256xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<256x256xf32>) -> tensor<256x256xf32>
  %c = linalg.matmul ins(%a, %b : tensor<256x512xf32>, tensor<512x256xf32>) outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %c : tensor<256x256xf32>
}
}

// -----

// The target states no shape for f16, and an f32 is no factor of any
// instruction: tiles of scalars.
module attributes {bp.target = {subgroup_sizes = array<i64: 32>, matrix_shapes.bf16 = array<i64: 16, 8, 16>}} {
// CHECK-LABEL: func.func @unlisted
// CHECK-NOT: nvvm.mma
// CHECK: arith.mulf
func.func @unlisted(%a: tensor<64x32xf16>, %b: tensor<32x64xf16>,
                    %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = linalg.matmul ins(%a, %b : tensor<64x32xf16>, tensor<32x64xf16>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %c : tensor<64x64xf32>
}
// CHECK-LABEL: func.func @single
// CHECK-NOT: nvvm.mma
// CHECK: arith.mulf
func.func @single(%a: tensor<64x32xf32>, %b: tensor<32x64xf32>,
                  %out: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = linalg.matmul ins(%a, %b : tensor<64x32xf32>, tensor<32x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %c : tensor<64x64xf32>
}
}

// -----

// Factors that ops in front widen are read narrow.
module attributes {bp.target = {subgroup_sizes = array<i64: 32>, matrix_shapes.i8 = array<i64: 16, 8, 32>}} {
// CHECK-LABEL: func.func @widened
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<s8>, multiplicandBPtxType = #nvvm.mma_type<u8>
// CHECK-NOT: arith.muli {{.*}} : i32
func.func @widened(%a: tensor<64x128xi8>, %b: tensor<128x64xi8>,
                   %out: tensor<64x64xi32>) -> tensor<64x64xi32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : i32
  %ea = tensor.empty() : tensor<64x128xi32>
  %wa = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<64x128xi8>) outs(%ea : tensor<64x128xi32>) {
  ^bb0(%v: i8, %o: i32):
    %w = arith.extsi %v : i8 to i32
    linalg.yield %w : i32
  } -> tensor<64x128xi32>
  %eb = tensor.empty() : tensor<128x64xi32>
  %wb = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<128x64xi8>) outs(%eb : tensor<128x64xi32>) {
  ^bb0(%v: i8, %o: i32):
    %w = arith.extui %v : i8 to i32
    linalg.yield %w : i32
  } -> tensor<128x64xi32>
  %f = linalg.fill ins(%zero : i32) outs(%out : tensor<64x64xi32>) -> tensor<64x64xi32>
  %c = linalg.matmul ins(%wa, %wb : tensor<64x128xi32>, tensor<128x64xi32>) outs(%f : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %c : tensor<64x64xi32>
}
}

// -----

// Also behind zeros that a convolution adds: what is read wide is made narrow
// again. The weight is copied without registers.
module attributes {bp.target = {group_threads = 128 : i64, shared_bytes = 49152 : i64, subgroup_sizes = array<i64: 32>, matrix_shapes.i8 = array<i64: 16, 8, 32>}} {
// CHECK-LABEL: func.func @padded
// CHECK: nvvm.cp.async.shared.global
// CHECK: arith.trunci {{.*}} : i32 to i8
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<s8>, multiplicandBPtxType = #nvvm.mma_type<s8>
func.func @padded(%x: tensor<1x16x8x8xi8>, %w: tensor<32x16x3x3xi8>,
                  %out: tensor<1x32x8x8xi32>) -> tensor<1x32x8x8xi32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : i32
  %ex = tensor.empty() : tensor<1x16x8x8xi32>
  %wx = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%x : tensor<1x16x8x8xi8>) outs(%ex : tensor<1x16x8x8xi32>) {
  ^bb0(%v: i8, %o: i32):
    %e = arith.extsi %v : i8 to i32
    linalg.yield %e : i32
  } -> tensor<1x16x8x8xi32>
  %ew = tensor.empty() : tensor<32x16x3x3xi32>
  %ww = linalg.generic {indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%w : tensor<32x16x3x3xi8>) outs(%ew : tensor<32x16x3x3xi32>) {
  ^bb0(%v: i8, %o: i32):
    %e = arith.extsi %v : i8 to i32
    linalg.yield %e : i32
  } -> tensor<32x16x3x3xi32>
  %padded = tensor.pad %wx low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : i32
  } : tensor<1x16x8x8xi32> to tensor<1x16x10x10xi32>
  %f = linalg.fill ins(%zero : i32) outs(%out : tensor<1x32x8x8xi32>) -> tensor<1x32x8x8xi32>
  %c = linalg.generic {indexing_maps = [affine_map<(n, o, h, w, c, y, x) -> (o, c, y, x)>, affine_map<(n, o, h, w, c, y, x) -> (n, c, h + y, w + x)>, affine_map<(n, o, h, w, c, y, x) -> (n, o, h, w)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%ww, %padded : tensor<32x16x3x3xi32>, tensor<1x16x10x10xi32>) outs(%f : tensor<1x32x8x8xi32>) {
  ^bb0(%p: i32, %q: i32, %s: i32):
    %m = arith.muli %p, %q : i32
    %t = arith.addi %s, %m : i32
    linalg.yield %t : i32
  } -> tensor<1x32x8x8xi32>
  return %c : tensor<1x32x8x8xi32>
}
}

// -----

// Sizes that are not known, and a mask behind the sums: indices of copies and of
// the tile are joined across their loops.
module attributes {bp.target = {group_threads = 128 : i64, shared_bytes = 49152 : i64, subgroup_sizes = array<i64: 32>, matrix_shapes.f16 = array<i64: 16, 8, 16>}} {
// CHECK-LABEL: func.func @masked
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.mma.sync
  func.func @masked(%arg0: tensor<?x4x?x8xf16> {bp.dims = ["n", "4", "t", "8"]}, %arg1: tensor<?x4x?x8xf16> {bp.dims = ["n", "4", "t", "8"]}, %mask: tensor<?x?xf16> {bp.dims = ["n", "t"]}, %arg2: tensor<?x4x?x?xf16> {bp.dims = ["n", "4", "t", "t"]}, %arg3: index, %arg4: index) -> tensor<?x4x?x?xf16> attributes {bp.dispatch, bp.inputs = 3 : i64, bp.outputs = 1 : i64, bp.symbols = ["n", "t"]} {
    %cst = arith.constant 0.000000e+00 : f32
    %0 = tensor.empty(%arg3, %arg4, %arg4) : tensor<?x4x?x?xf32>
    %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<?x4x?x8xf16>, tensor<?x4x?x8xf16>) outs(%1 : tensor<?x4x?x?xf32>) {
    ^bb0(%in: f16, %in_0: f16, %out: f32):
      %4 = arith.extf %in : f16 to f32
      %5 = arith.extf %in_0 : f16 to f32
      %6 = arith.mulf %4, %5 : f32
      %7 = arith.addf %out, %6 : f32
      linalg.yield %7 : f32
    } -> tensor<?x4x?x?xf32>
    %3 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%2, %mask : tensor<?x4x?x?xf32>, tensor<?x?xf16>) outs(%arg2 : tensor<?x4x?x?xf16>) {
    ^bb0(%in: f32, %m: f16, %out: f16):
      %x = arith.extf %m : f16 to f32
      %y = arith.addf %in, %x : f32
      %4 = arith.truncf %y : f32 to f16
      linalg.yield %4 : f16
    } -> tensor<?x4x?x?xf16>
    return %3 : tensor<?x4x?x?xf16>
  }
}

// -----

// Tiles are high where only B comes by registers, as each row of work-groups
// reads it: 64 by 16 in place of 32 by 32.
module attributes {bp.target = {group_threads = 128 : i64, shared_bytes = 49152 : i64, subgroup_sizes = array<i64: 32>, matrix_shapes.f16 = array<i64: 16, 8, 16>}} {
// CHECK-LABEL: func.func @high
// CHECK: memref.alloc() : memref<3840xi32, #gpu.address_space<workgroup>>
func.func @high(%a: tensor<128x64xf16>, %b: tensor<64x67xf16>,
                %out: tensor<128x67xf32>) -> tensor<128x67xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<128x67xf32>) -> tensor<128x67xf32>
  %c = linalg.matmul ins(%a, %b : tensor<128x64xf16>, tensor<64x67xf16>) outs(%f : tensor<128x67xf32>) -> tensor<128x67xf32>
  return %c : tensor<128x67xf32>
}
}
