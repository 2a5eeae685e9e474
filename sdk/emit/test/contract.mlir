// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=512 intrinsics=llvm.aarch64.neon products=dot" -split-input-file | FileCheck %s
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=128 registers=32 intrinsics=llvm.aarch64.neon products=dot,usdot,mmla,bfmlal,bfmmla" -split-input-file | FileCheck %s --check-prefix=BLOCKS
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=128 scalable=true registers=32 intrinsics=llvm.aarch64.sve products=dot,usdot,mmla,bfmlal,bfmmla" -split-input-file | FileCheck %s --check-prefix=SCALABLE
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=128 registers=32 intrinsics=llvm.aarch64.neon products=bfmlal" -split-input-file | FileCheck %s --check-prefix=LONG
// RUN: not bp-opt %s "-bp-contract=intrinsics=llvm.aarch64.neon products=fmmla" -split-input-file 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not bp-opt %s -bp-contract=products=dot -split-input-file 2>&1 | FileCheck %s --check-prefix=UNNAMED
// ERROR: error: bp-contract has no products 'fmmla' of intrinsics 'llvm.aarch64.neon'
// UNNAMED: error: bp-contract has no products 'dot' of intrinsics ''

// Work-groups, a copy of both operands, a kernel of multiply-adds on vectors.
// CHECK-LABEL: func.func @matmul
// CHECK: scf.forall {{.*}} = (0, 0) to (1024, 1024)
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-24: math.fma {{.*}} : vector<16xf32>
// CHECK-NOT: linalg
func.func @matmul(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>,
                  %c: tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<1024x1024xf32>)
      -> tensor<1024x1024xf32>
  %r = linalg.matmul
      ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>)
      outs(%start : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}

// -----

// One row: B is streamed, nothing is copied.
// CHECK-LABEL: func.func @row
// CHECK: scf.forall
// CHECK-COUNT-8: math.fma
// CHECK-NOT: linalg
func.func @row(%a: tensor<1x64xf32>, %b: tensor<64x4096xf32>,
               %c: tensor<1x4096xf32>) -> tensor<1x4096xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<1x4096xf32>)
      -> tensor<1x4096xf32>
  %r = linalg.matmul ins(%a, %b : tensor<1x64xf32>, tensor<64x4096xf32>)
      outs(%start : tensor<1x4096xf32>) -> tensor<1x4096xf32>
  return %r : tensor<1x4096xf32>
}

// -----

// A few rows: B is streamed once for all of them.
// CHECK-LABEL: func.func @rows
// CHECK: scf.forall
// CHECK-COUNT-8: vector.load
// CHECK-COUNT-32: math.fma
// CHECK-NOT: linalg
func.func @rows(%a: tensor<4x64xf32>, %b: tensor<64x4096xf32>,
                %c: tensor<4x4096xf32>) -> tensor<4x4096xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<4x4096xf32>)
      -> tensor<4x4096xf32>
  %r = linalg.matmul ins(%a, %b : tensor<4x64xf32>, tensor<64x4096xf32>)
      outs(%start : tensor<4x4096xf32>) -> tensor<4x4096xf32>
  return %r : tensor<4x4096xf32>
}

// -----

#weight = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d2, d4, d5, d6)>
#image = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d4, d3 + d5, d6)>
#sums = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>

// A convolution in groups: reshapes are no hindrance, and groups of little work
// are not shared by threads.
// CHECK-LABEL: func.func @groups
// CHECK-DAG: memref.collapse_shape %arg0 {{.*}} into memref<768xf32>
// CHECK-DAG: memref.collapse_shape %arg1 {{.*}} into memref<480xf32>
// CHECK-DAG: memref.collapse_shape %arg2 {{.*}} into memref<896xf32>
// CHECK-NOT: scf.forall
// CHECK: scf.for {{.*}} = %c0 to %c2 step %c1
// CHECK: math.fma
// CHECK-NOT: linalg
func.func @groups(%w: tensor<32x8x3x1xf32>, %x: tensor<1x16x30x1xf32>,
                  %c: tensor<1x32x28xf32>) -> tensor<1x32x28xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %ws = tensor.expand_shape %w [[0, 1], [2], [3], [4]] output_shape [2, 16, 8, 3, 1]
      : tensor<32x8x3x1xf32> into tensor<2x16x8x3x1xf32>
  %xs = tensor.expand_shape %x [[0], [1, 2], [3], [4]] output_shape [1, 2, 8, 30, 1]
      : tensor<1x16x30x1xf32> into tensor<1x2x8x30x1xf32>
  %cs = tensor.expand_shape %c [[0], [1, 2], [3]] output_shape [1, 2, 16, 28]
      : tensor<1x32x28xf32> into tensor<1x2x16x28xf32>
  %start = linalg.fill ins(%zero : f32) outs(%cs : tensor<1x2x16x28xf32>)
      -> tensor<1x2x16x28xf32>
  %r = linalg.generic {indexing_maps = [#weight, #image, #sums],
                       iterator_types = ["parallel", "parallel", "parallel",
                                         "parallel", "reduction", "reduction",
                                         "reduction"]}
      ins(%ws, %xs : tensor<2x16x8x3x1xf32>, tensor<1x2x8x30x1xf32>)
      outs(%start : tensor<1x2x16x28xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %old, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x2x16x28xf32>
  %done = tensor.collapse_shape %r [[0], [1, 2], [3]]
      : tensor<1x2x16x28xf32> into tensor<1x32x28xf32>
  return %done : tensor<1x32x28xf32>
}

// -----

#weight = affine_map<(d0, d1, d2, d3, d4) -> (d1, d3, d4)>
#image = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2 * 2 + d4)>
#sums = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>

// Pixels two apart, of a row whose length is not known, are taken out of two
// vectors, and gathered where it ends.
// CHECK-LABEL: func.func @apart
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 17, 19, 21, 23, 25, 27, 29, 31]
// CHECK: vector.gather
// CHECK: math.fma
// CHECK-NOT: linalg
func.func @apart(%w: tensor<16x8x3xf32>, %x: tensor<1x8x?xf32>,
                 %c: tensor<1x16x?xf32>) -> tensor<1x16x?xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<1x16x?xf32>)
      -> tensor<1x16x?xf32>
  %r = linalg.generic {indexing_maps = [#weight, #image, #sums],
                       iterator_types = ["parallel", "parallel", "parallel",
                                         "reduction", "reduction"]}
      ins(%w, %x : tensor<16x8x3xf32>, tensor<1x8x?xf32>)
      outs(%start : tensor<1x16x?xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %old, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x16x?xf32>
  return %r : tensor<1x16x?xf32>
}

// -----

// Where the target does not contract, the product is rounded too.
module attributes {bp.round_products} {
// CHECK-LABEL: func.func @separate
// CHECK-NOT: math.fma
// CHECK: %[[PRODUCT:.*]] = arith.mulf {{.*}} : vector<16xf32>
// CHECK: arith.addf %[[PRODUCT]], {{.*}} : vector<16xf32>
// CHECK-NOT: math.fma
func.func @separate(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>,
                    %c: tensor<64x64xf32>) -> tensor<64x64xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<64x64xf32>)
      -> tensor<64x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>)
      outs(%start : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}
// CHECK-LABEL: func.func @separate_row
// CHECK-NOT: math.fma
// CHECK-COUNT-8: arith.mulf {{.*}} : vector<16xf32>
// CHECK-NOT: math.fma
// CHECK: return
func.func @separate_row(%a: tensor<1x64xf32>, %b: tensor<64x4096xf32>,
                        %c: tensor<1x4096xf32>) -> tensor<1x4096xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<1x4096xf32>)
      -> tensor<1x4096xf32>
  %r = linalg.matmul ins(%a, %b : tensor<1x64xf32>, tensor<64x4096xf32>)
      outs(%start : tensor<1x4096xf32>) -> tensor<1x4096xf32>
  return %r : tensor<1x4096xf32>
}
}

// -----

// Anything else is left alone.
// CHECK-LABEL: func.func @other
// CHECK: linalg.generic {{.*}}"reduction"
func.func @other(%a: tensor<4x64xf32>, %c: tensor<4xf32>) -> tensor<4xf32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<4xf32>)
      -> tensor<4xf32>
  %r = linalg.reduce {arith.addf} ins(%a : tensor<4x64xf32>)
      outs(%start : tensor<4xf32>) dimensions = [1]
  return %r : tensor<4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// Bytes that are widened are copied as bytes: words of four k in B, of which
// the last one has two, and four products are added at a time.
// CHECK-LABEL: func.func @bytes
// CHECK: memref<1536xi8>
// CHECK: scf.for {{.*}} = %c0 to %c32 step %c4
// CHECK: arith.ori {{.*}} vector<16xi32>
// CHECK: vector.bitcast {{.*}} : vector<16xi32> to vector<64xi8>
// CHECK: llvm.call_intrinsic "llvm.aarch64.neon.sdot"
// CHECK-NOT: linalg
func.func @bytes(%a: tensor<32x34xi8>, %b: tensor<34x64xi8>,
                 %c: tensor<32x64xi32>) -> tensor<32x64xi32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : i32
  %ea = tensor.empty() : tensor<32x34xi32>
  %wa = linalg.generic {indexing_maps = [#id, #id],
                        iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<32x34xi8>) outs(%ea : tensor<32x34xi32>) {
  ^bb0(%x: i8, %old: i32):
    %y = arith.extsi %x : i8 to i32
    linalg.yield %y : i32
  } -> tensor<32x34xi32>
  %eb = tensor.empty() : tensor<34x64xi32>
  %wb = linalg.generic {indexing_maps = [#id, #id],
                        iterator_types = ["parallel", "parallel"]}
      ins(%b : tensor<34x64xi8>) outs(%eb : tensor<34x64xi32>) {
  ^bb0(%x: i8, %old: i32):
    %y = arith.extsi %x : i8 to i32
    linalg.yield %y : i32
  } -> tensor<34x64xi32>
  %start = linalg.fill ins(%zero : i32) outs(%c : tensor<32x64xi32>)
      -> tensor<32x64xi32>
  %r = linalg.matmul ins(%wa, %wb : tensor<32x34xi32>, tensor<34x64xi32>)
      outs(%start : tensor<32x64xi32>) -> tensor<32x64xi32>
  return %r : tensor<32x64xi32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// Blocks of two rows by two columns, eight of k: words of B alternate, B comes
// first because it is the unsigned one, so 2 x 2 sums are column by column.
// CHECK-LABEL: func.func @blocks
// CHECK-NOT: call_intrinsic
// BLOCKS-LABEL: func.func @blocks
// BLOCKS: scf.for {{.*}} = %c0 to %c32 step %c8
// BLOCKS: vector.interleave {{.*}} : vector<4xi32> -> vector<8xi32>
// BLOCKS: vector.load {{.*}} vector<16xi8>
// BLOCKS: "llvm.aarch64.neon.usmmla"
// BLOCKS: vector.shuffle {{.*}} [0, 2, 4, 6] : vector<4xi32>, vector<4xi32>
// BLOCKS: vector.shuffle {{.*}} [1, 3, 5, 7]
// SCALABLE-LABEL: func.func @blocks
// SCALABLE: vector.interleave {{.*}} : vector<[4]xi32> -> vector<[8]xi32>
// SCALABLE: vector.load {{.*}} vector<16xi8>
// SCALABLE: "llvm.aarch64.sve.dupq.lane"
// SCALABLE: "llvm.aarch64.sve.usmmla"
// SCALABLE: "llvm.aarch64.sve.uzp1"{{.*}} vector<[4]xi32>
func.func @blocks(%a: tensor<32x34xi8>, %b: tensor<34x64xi8>,
                 %c: tensor<32x64xi32>) -> tensor<32x64xi32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : i32
  %ea = tensor.empty() : tensor<32x34xi32>
  %wa = linalg.generic {indexing_maps = [#id, #id],
                        iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<32x34xi8>) outs(%ea : tensor<32x34xi32>) {
  ^bb0(%x: i8, %old: i32):
    %y = arith.extsi %x : i8 to i32
    linalg.yield %y : i32
  } -> tensor<32x34xi32>
  %eb = tensor.empty() : tensor<34x64xi32>
  %wb = linalg.generic {indexing_maps = [#id, #id],
                        iterator_types = ["parallel", "parallel"]}
      ins(%b : tensor<34x64xi8>) outs(%eb : tensor<34x64xi32>) {
  ^bb0(%x: i8, %old: i32):
    %y = arith.extui %x : i8 to i32
    linalg.yield %y : i32
  } -> tensor<34x64xi32>
  %start = linalg.fill ins(%zero : i32) outs(%c : tensor<32x64xi32>)
      -> tensor<32x64xi32>
  %r = linalg.matmul ins(%wa, %wb : tensor<32x34xi32>, tensor<34x64xi32>)
      outs(%start : tensor<32x64xi32>) -> tensor<32x64xi32>
  return %r : tensor<32x64xi32>
}

// -----

// bf16 likewise, four of k: rows are told apart by pairs of sums. What the last
// step has beyond the edge is zero in A, too.
// CHECK-LABEL: func.func @brain
// CHECK: math.fma
// BLOCKS-LABEL: func.func @brain
// BLOCKS: scf.for {{.*}} = %c0 to %c32 step %c4
// BLOCKS: vector.maskedload {{.*}} vector<4xbf16>
// BLOCKS: vector.load {{.*}} vector<8xbf16>
// BLOCKS: "llvm.aarch64.neon.bfmmla"
// BLOCKS: vector.shuffle {{.*}} [0, 2] : vector<2xi64>, vector<2xi64>
// SCALABLE-LABEL: func.func @brain
// SCALABLE: "llvm.aarch64.sve.bfmmla"
// SCALABLE: "llvm.aarch64.sve.uzp1"{{.*}} vector<[2]xi64>
// LONG-LABEL: func.func @brain
// LONG: scf.for {{.*}} = %c0 to %c34 step %c2
// LONG: "llvm.aarch64.neon.bfmlalb"
// LONG: "llvm.aarch64.neon.bfmlalt"
// LONG-NOT: math.fma
func.func @brain(%a: tensor<32x34xbf16>, %b: tensor<34x64xbf16>,
                 %c: tensor<32x64xf32>) -> tensor<32x64xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<32x64xf32>)
      -> tensor<32x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<32x34xbf16>, tensor<34x64xbf16>)
      outs(%start : tensor<32x64xf32>) -> tensor<32x64xf32>
  return %r : tensor<32x64xf32>
}

// -----

// One row fills no block.
// BLOCKS-LABEL: func.func @brain_row
// BLOCKS-NOT: bfmmla
// BLOCKS: "llvm.aarch64.neon.bfmlalb"
func.func @brain_row(%a: tensor<1x34xbf16>, %b: tensor<34x64xbf16>,
                 %c: tensor<1x64xf32>) -> tensor<1x64xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<1x64xf32>)
      -> tensor<1x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<1x34xbf16>, tensor<34x64xbf16>)
      outs(%start : tensor<1x64xf32>) -> tensor<1x64xf32>
  return %r : tensor<1x64xf32>
}
