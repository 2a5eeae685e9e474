// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=512 intrinsics=llvm.x86.avx512 products=dpbusd,dpwssd" -split-input-file | FileCheck %s
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=512 intrinsics=llvm.x86.avx512 products=pmadd" -split-input-file | FileCheck %s --check-prefix=PAIRS
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=512 intrinsics=llvm.x86.avx512 products=tdpb,dpbusd,dpwssd" -split-input-file | FileCheck %s --check-prefix=TILES

#image = affine_map<(n, o, h, w, c, i, j, l) -> (n, c * 4 + l, h + i, w + j)>
#weight = affine_map<(n, o, h, w, c, i, j, l) -> (o, c, i, j, l)>
#result = affine_map<(n, o, h, w, c, i, j, l) -> (n, o, h, w)>
#id4 = affine_map<(a, b, c, d) -> (a, b, c, d)>
#id5 = affine_map<(a, b, c, d, e) -> (a, b, c, d, e)>

// Four channels of a pixel are a word of the copied image, and the window of a
// pixel is read there.
// CHECK-LABEL: func.func @pixels
// CHECK-COUNT-4: vector.load {{.*}} : memref<{{.*}}xi8>, vector<16xi8>
// CHECK: arith.shli {{.*}} : vector<16xi32>
// CHECK: vector.store {{.*}} : memref<{{.*}}xi32>, vector<16xi32>
// CHECK: vector.load {{.*}} : memref<{{.*}}xi32>, vector<16xi32>
// CHECK: vector.load {{.*}} : memref<{{.*}}xi8>, vector<4xi8>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// CHECK-NOT: linalg
// PAIRS-LABEL: func.func @pixels
// PAIRS: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"
// PAIRS-NOT: linalg
// The pixels that a panel meets, as rows that are equally far apart: nine for
// four channels.
// TILES-LABEL: func.func @pixels
// TILES-COUNT-18: vector.store {{.*}} : memref<{{.*}}xi32>, vector<16xi32>
// TILES: llvm.call_intrinsic "llvm.x86.tdpbsud.internal"
// TILES-NOT: linalg
func.func @pixels(%w: tensor<24x2x3x3x4xi8>, %x: tensor<1x8x22x22xi8>,
                  %y: tensor<1x24x20x20xi32>) -> tensor<1x24x20x20xi32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : i32
  %ew = tensor.empty() : tensor<24x2x3x3x4xi32>
  %ww = linalg.generic {indexing_maps = [#id5, #id5], iterator_types = [
      "parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%w : tensor<24x2x3x3x4xi8>) outs(%ew : tensor<24x2x3x3x4xi32>) {
  ^bb0(%a: i8, %old: i32):
    %b = arith.extsi %a : i8 to i32
    linalg.yield %b : i32
  } -> tensor<24x2x3x3x4xi32>
  %ex = tensor.empty() : tensor<1x8x22x22xi32>
  %wx = linalg.generic {indexing_maps = [#id4, #id4], iterator_types = [
      "parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<1x8x22x22xi8>) outs(%ex : tensor<1x8x22x22xi32>) {
  ^bb0(%a: i8, %old: i32):
    %b = arith.extui %a : i8 to i32
    linalg.yield %b : i32
  } -> tensor<1x8x22x22xi32>
  %start = linalg.fill ins(%zero : i32) outs(%y : tensor<1x24x20x20xi32>)
      -> tensor<1x24x20x20xi32>
  %r = linalg.generic {indexing_maps = [#weight, #image, #result],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
                        "reduction", "reduction", "reduction", "reduction"]}
      ins(%ww, %wx : tensor<24x2x3x3x4xi32>, tensor<1x8x22x22xi32>)
      outs(%start : tensor<1x24x20x20xi32>) {
  ^bb0(%a: i32, %b: i32, %sum: i32):
    %p = arith.muli %a, %b : i32
    %s = arith.addi %sum, %p : i32
    linalg.yield %s : i32
  } -> tensor<1x24x20x20xi32>
  return %r : tensor<1x24x20x20xi32>
}

// -----

#image = affine_map<(n, p, o, h, w, c, i, j, l) -> (n, c * 4 + l, h + i, w + j)>
#weight = affine_map<(n, p, o, h, w, c, i, j, l) -> (p, c, i, j, o, l)>
#result = affine_map<(n, p, o, h, w, c, i, j, l) -> (n, p, o, h, w)>
#id4 = affine_map<(a, b, c, d) -> (a, b, c, d)>
#id6 = affine_map<(a, b, c, d, e, f) -> (a, b, c, d, e, f)>

// Of few pixels outputs are lanes: a block of the weight is read as it lies,
// and a word of the image goes to all of them.
// CHECK-LABEL: func.func @outputs
// CHECK: vector.load {{.*}} : memref<{{.*}}xi8>, vector<64xi8>
// CHECK: %[[WORD:.*]] = memref.load {{.*}} : memref<{{.*}}xi32>
// CHECK: vector.broadcast %[[WORD]] : i32 to vector<16xi32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// CHECK-NOT: linalg
// PAIRS-LABEL: func.func @outputs
// PAIRS: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"
// PAIRS-NOT: linalg
func.func @outputs(%w: tensor<2x2x3x3x16x4xi8>, %x: tensor<1x8x9x9xi8>,
                   %y: tensor<1x2x16x7x7xi32>) -> tensor<1x2x16x7x7xi32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : i32
  %ew = tensor.empty() : tensor<2x2x3x3x16x4xi32>
  %ww = linalg.generic {indexing_maps = [#id6, #id6], iterator_types = [
      "parallel", "parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%w : tensor<2x2x3x3x16x4xi8>) outs(%ew : tensor<2x2x3x3x16x4xi32>) {
  ^bb0(%a: i8, %old: i32):
    %b = arith.extsi %a : i8 to i32
    linalg.yield %b : i32
  } -> tensor<2x2x3x3x16x4xi32>
  %ex = tensor.empty() : tensor<1x8x9x9xi32>
  %wx = linalg.generic {indexing_maps = [#id4, #id4], iterator_types = [
      "parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<1x8x9x9xi8>) outs(%ex : tensor<1x8x9x9xi32>) {
  ^bb0(%a: i8, %old: i32):
    %b = arith.extui %a : i8 to i32
    linalg.yield %b : i32
  } -> tensor<1x8x9x9xi32>
  %start = linalg.fill ins(%zero : i32) outs(%y : tensor<1x2x16x7x7xi32>)
      -> tensor<1x2x16x7x7xi32>
  %r = linalg.generic {indexing_maps = [#weight, #image, #result],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
                        "parallel", "reduction", "reduction", "reduction",
                        "reduction"]}
      ins(%ww, %wx : tensor<2x2x3x3x16x4xi32>, tensor<1x8x9x9xi32>)
      outs(%start : tensor<1x2x16x7x7xi32>) {
  ^bb0(%a: i32, %b: i32, %sum: i32):
    %p = arith.muli %a, %b : i32
    %s = arith.addi %sum, %p : i32
    linalg.yield %s : i32
  } -> tensor<1x2x16x7x7xi32>
  return %r : tensor<1x2x16x7x7xi32>
}

// -----

#image = affine_map<(n, p, o, h, w, c, i, j, l) -> (n, c * 2 + l, h + i, w + j)>
#weight = affine_map<(n, p, o, h, w, c, i, j, l) -> (p, c, i, j, o, l)>
#result = affine_map<(n, p, o, h, w, c, i, j, l) -> (n, p, o, h, w)>
#id4 = affine_map<(a, b, c, d) -> (a, b, c, d)>
#id6 = affine_map<(a, b, c, d, e, f) -> (a, b, c, d, e, f)>

// The same of pairs, which are widened: two channels are a word of the image,
// and a block of the weight is widened as it is read.
// CHECK-LABEL: func.func @pairs
// PAIRS-LABEL: func.func @pairs
// PAIRS: arith.extui {{.*}} : vector<32xi8> to vector<32xi16>
// PAIRS: vector.load {{.*}} : memref<{{.*}}xi8>, vector<32xi8>
// PAIRS: arith.extsi {{.*}} : vector<32xi8> to vector<32xi16>
// PAIRS: %[[WORD:.*]] = memref.load {{.*}} : memref<{{.*}}xi32>
// PAIRS: vector.broadcast %[[WORD]] : i32 to vector<16xi32>
// PAIRS: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"
// PAIRS-NOT: linalg
func.func @pairs(%w: tensor<2x4x3x3x16x2xi8>, %x: tensor<1x8x9x9xi8>,
                   %y: tensor<1x2x16x7x7xi32>) -> tensor<1x2x16x7x7xi32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : i32
  %ew = tensor.empty() : tensor<2x4x3x3x16x2xi32>
  %ww = linalg.generic {indexing_maps = [#id6, #id6], iterator_types = [
      "parallel", "parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%w : tensor<2x4x3x3x16x2xi8>) outs(%ew : tensor<2x4x3x3x16x2xi32>) {
  ^bb0(%a: i8, %old: i32):
    %b = arith.extsi %a : i8 to i32
    linalg.yield %b : i32
  } -> tensor<2x4x3x3x16x2xi32>
  %ex = tensor.empty() : tensor<1x8x9x9xi32>
  %wx = linalg.generic {indexing_maps = [#id4, #id4], iterator_types = [
      "parallel", "parallel", "parallel", "parallel"]}
      ins(%x : tensor<1x8x9x9xi8>) outs(%ex : tensor<1x8x9x9xi32>) {
  ^bb0(%a: i8, %old: i32):
    %b = arith.extui %a : i8 to i32
    linalg.yield %b : i32
  } -> tensor<1x8x9x9xi32>
  %start = linalg.fill ins(%zero : i32) outs(%y : tensor<1x2x16x7x7xi32>)
      -> tensor<1x2x16x7x7xi32>
  %r = linalg.generic {indexing_maps = [#weight, #image, #result],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
                        "parallel", "reduction", "reduction", "reduction",
                        "reduction"]}
      ins(%ww, %wx : tensor<2x4x3x3x16x2xi32>, tensor<1x8x9x9xi32>)
      outs(%start : tensor<1x2x16x7x7xi32>) {
  ^bb0(%a: i32, %b: i32, %sum: i32):
    %p = arith.muli %a, %b : i32
    %s = arith.addi %sum, %p : i32
    linalg.yield %s : i32
  } -> tensor<1x2x16x7x7xi32>
  return %r : tensor<1x2x16x7x7xi32>
}
