// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-vectorize=vector-bits=512 -canonicalize -split-input-file | FileCheck %s

// A window over a padded copy of an input reads the input. Rows of padding are
// not read, lanes of padding are masked; rows in the middle have no more than
// these masks.
// CHECK-LABEL: func.func @window
// CHECK-DAG: %[[LEFT:.*]] = arith.constant dense<[false, true, {{.*}}]> : vector<16xi1>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK-NOT: memref.alloc
// CHECK: scf.for %[[C:.*]] = %c0 to %c4
// CHECK: vector.maskedload %arg0[%[[C]], %c0, %c-1], %[[LEFT]], %[[ZERO]]
// CHECK-NOT: arith.cmpi
// CHECK: scf.for %[[ROW:.*]] = %c8 to %c24 step %c8
// CHECK-NOT: arith.cmpi
// CHECK: vector.maskedload %arg0[%[[C]], %{{.*}}, %c-1], %[[LEFT]], %[[ZERO]]
// CHECK-NOT: memref.alloc
func.func @window(%x: memref<4x32x16xf32>, %w: memref<4x3x3xf32>, %o: memref<4x32x16xf32>)
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %padded = memref.alloc() : memref<4x34x18xf32>
  linalg.fill ins(%zero : f32) outs(%padded : memref<4x34x18xf32>)
  %inside = memref.subview %padded[0, 1, 1] [4, 32, 16] [1, 1, 1] : memref<4x34x18xf32> to memref<4x32x16xf32, strided<[612, 18, 1], offset: 19>>
  linalg.copy ins(%x : memref<4x32x16xf32>) outs(%inside : memref<4x32x16xf32, strided<[612, 18, 1], offset: 19>>)
  linalg.generic {indexing_maps = [affine_map<(c, y, x, i, j) -> (c, y + i, x + j)>, affine_map<(c, y, x, i, j) -> (c, i, j)>, affine_map<(c, y, x, i, j) -> (c, y, x)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%padded, %w : memref<4x34x18xf32>, memref<4x3x3xf32>) outs(%o : memref<4x32x16xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %sum, %p : f32
    linalg.yield %t : f32
  }
  return
}

// -----

// Rows whose number is not known are asked whether they are inside.
// CHECK-LABEL: func.func @symbolic
// CHECK-NOT: memref.alloc
// CHECK: arith.cmpi ult, %{{.*}}, %c30
// CHECK: vector.broadcast %{{.*}} : i1 to vector<16xi1>
// CHECK: vector.maskedload %arg0
func.func @symbolic(%x: memref<30x16xf32>, %o: memref<?x16xf32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %low = arith.constant 0xFF800000 : f32
  %padded = memref.alloc() : memref<34x18xf32>
  %window = memref.alloc() : memref<3xf32>
  linalg.fill ins(%low : f32) outs(%padded : memref<34x18xf32>)
  %inside = memref.subview %padded[1, 1] [30, 16] [1, 1] : memref<34x18xf32> to memref<30x16xf32, strided<[18, 1], offset: 19>>
  linalg.copy ins(%x : memref<30x16xf32>) outs(%inside : memref<30x16xf32, strided<[18, 1], offset: 19>>)
  linalg.generic {indexing_maps = [affine_map<(y, x, i) -> (y + i, x)>, affine_map<(y, x, i) -> (i)>, affine_map<(y, x, i) -> (y, x)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%padded, %window : memref<34x18xf32>, memref<3xf32>) outs(%o : memref<?x16xf32>) {
  ^bb0(%a: f32, %b: f32, %most: f32):
    %t = arith.maximumf %most, %a : f32
    linalg.yield %t : f32
  }
  return
}

// -----

// What is no input may change: its copy is made.
// CHECK-LABEL: func.func @kept
// CHECK: %[[COPY:.*]] = memref.alloc
// CHECK: vector.{{.*}}load %[[COPY]]
func.func @kept(%x: memref<16x16xf32>, %o: memref<16x16xf32>, %p: memref<16x16xf32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  %padded = memref.alloc() : memref<18x16xf32>
  %window = memref.alloc() : memref<3xf32>
  linalg.fill ins(%zero : f32) outs(%padded : memref<18x16xf32>)
  %inside = memref.subview %padded[1, 0] [16, 16] [1, 1] : memref<18x16xf32> to memref<16x16xf32, strided<[16, 1], offset: 16>>
  linalg.copy ins(%o : memref<16x16xf32>) outs(%inside : memref<16x16xf32, strided<[16, 1], offset: 16>>)
  linalg.generic {indexing_maps = [affine_map<(y, x, i) -> (y + i, x)>, affine_map<(y, x, i) -> (i)>, affine_map<(y, x, i) -> (y, x)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%padded, %window : memref<18x16xf32>, memref<3xf32>) outs(%p : memref<16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %t = arith.addf %sum, %a : f32
    linalg.yield %t : f32
  }
  return
}

// -----

// Rows that are not padded themselves: a mask for their end.
// CHECK-LABEL: func.func @rows
// CHECK-NOT: memref.alloc
// CHECK: %[[END:.*]] = vector.constant_mask [15]
// CHECK-NOT: vector.load %arg0
// CHECK: vector.maskedload %arg0[%{{.*}}, %c0], %[[END]]
// CHECK-NOT: vector.load %arg0
func.func @rows(%x: memref<6x15xf32>, %o: memref<6x15xf32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %padded = memref.alloc() : memref<8x15xf32>
  %window = memref.alloc() : memref<3xf32>
  linalg.fill ins(%zero : f32) outs(%padded : memref<8x15xf32>)
  %inside = memref.subview %padded[1, 0] [6, 15] [1, 1] : memref<8x15xf32> to memref<6x15xf32, strided<[15, 1], offset: 15>>
  linalg.copy ins(%x : memref<6x15xf32>) outs(%inside : memref<6x15xf32, strided<[15, 1], offset: 15>>)
  linalg.generic {indexing_maps = [affine_map<(y, x, i) -> (y + i, x)>, affine_map<(y, x, i) -> (i)>, affine_map<(y, x, i) -> (y, x)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%padded, %window : memref<8x15xf32>, memref<3xf32>) outs(%o : memref<6x15xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %t = arith.addf %sum, %a : f32
    linalg.yield %t : f32
  }
  return
}

// -----

// A window too large to be written out: two vectors of a row for each of four
// rows. The elements of a row of the window are a loop, in which the first
// vector is masked, and no vector that meets no padding whichever of them it is.
// CHECK-LABEL: func.func @large
// CHECK: scf.for %[[E:.*]] = %c0 to %c5 {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: %[[MASK:.*]] = arith.andi
// CHECK: vector.maskedload %arg0[%{{.*}}, %{{.*}}], %[[MASK]]
// CHECK: vector.load %arg0
func.func @large(%x: memref<64x96xf32>, %w: memref<5x5xf32>, %o: memref<64x96xf32>)
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %padded = memref.alloc() : memref<68x100xf32>
  linalg.fill ins(%zero : f32) outs(%padded : memref<68x100xf32>)
  %inside = memref.subview %padded[2, 2] [64, 96] [1, 1] : memref<68x100xf32> to memref<64x96xf32, strided<[100, 1], offset: 202>>
  linalg.copy ins(%x : memref<64x96xf32>) outs(%inside : memref<64x96xf32, strided<[100, 1], offset: 202>>)
  linalg.generic {indexing_maps = [affine_map<(y, x, i, j) -> (y + i, x + j)>, affine_map<(y, x, i, j) -> (i, j)>, affine_map<(y, x, i, j) -> (y, x)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%padded, %w : memref<68x100xf32>, memref<5x5xf32>) outs(%o : memref<64x96xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %t = arith.addf %sum, %p : f32
    linalg.yield %t : f32
  }
  return
}
