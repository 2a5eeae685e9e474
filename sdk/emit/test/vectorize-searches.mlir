// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-vectorize=vector-bits=256 -split-input-file | FileCheck %s
// RUN: bp-opt %s -bp-vectorize=vector-bits=512 -split-input-file | FileCheck %s --check-prefix=WIDE

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// The maximum of a row, then the first index of an element that equals it or is
// NaN. Wide vectors gather from several rows.
// CHECK-LABEL: func.func @first
// CHECK: vector.reduction <maximumf>
// CHECK: vector.store %{{.*}}, %arg2
// CHECK: scf.for
// CHECK: arith.cmpf oeq
// CHECK: arith.cmpf uno
// CHECK: vector.reduction <minsi>
// CHECK-NOT: scf.for
// WIDE-LABEL: func.func @first
// WIDE-NOT: vector.reduction
func.func @first(%x: memref<8x300xf32>, %best: memref<8xf32>, %at: memref<8xi64>) {
  linalg.generic {indexing_maps = [#in, #out, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<8x300xf32>) outs(%best, %at : memref<8xf32>, memref<8xi64>) {
  ^bb0(%a: f32, %b: f32, %i: i64):
    %above = arith.cmpf ult, %b, %a : f32
    %number = arith.cmpf ord, %b, %b : f32
    %wins = arith.andi %above, %number : i1
    %here = linalg.index 1 : index
    %j = arith.index_cast %here : index to i64
    %r = arith.select %wins, %a, %b : f32
    %s = arith.select %wins, %j, %i : i64
    linalg.yield %r, %s : f32, i64
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// The last index of the lowest element; of rows that may be empty it is 0, with
// which the search begins.
// CHECK-LABEL: func.func @last
// CHECK: vector.reduction <minui>
// CHECK: arith.cmpi eq
// CHECK: vector.reduction <maxsi>
// CHECK-NOT: linalg
func.func @last(%x: memref<8x?xi32>, %best: memref<8xi32>, %at: memref<8xi64>) {
  linalg.generic {indexing_maps = [#in, #out, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<8x?xi32>) outs(%best, %at : memref<8xi32>, memref<8xi64>) {
  ^bb0(%a: i32, %b: i32, %i: i64):
    %wins = arith.cmpi ule, %a, %b : i32
    %here = linalg.index 1 : index
    %j = arith.index_cast %here : index to i64
    %r = arith.select %wins, %a, %b : i32
    %s = arith.select %wins, %j, %i : i64
    linalg.yield %r, %s : i32, i64
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// The first index of rows that may be empty: none becomes 0.
// CHECK-LABEL: func.func @first_or_none
// CHECK: vector.reduction <minsi>
// CHECK: vector.reduction <minsi>
// CHECK: arith.cmpi eq, %{{.*}}, %{{.*}} : vector<4xi64>
// CHECK: arith.select
// CHECK: vector.{{.*}}store
func.func @first_or_none(%x: memref<8x?xi32>, %best: memref<8xi32>, %at: memref<8xi64>) {
  linalg.generic {indexing_maps = [#in, #out, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<8x?xi32>) outs(%best, %at : memref<8xi32>, memref<8xi64>) {
  ^bb0(%a: i32, %b: i32, %i: i64):
    %wins = arith.cmpi slt, %a, %b : i32
    %here = linalg.index 1 : index
    %j = arith.index_cast %here : index to i64
    %r = arith.select %wins, %a, %b : i32
    %s = arith.select %wins, %j, %i : i64
    linalg.yield %r, %s : i32, i64
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// Short rows stay one search, and so do searches among columns.
// CHECK-LABEL: func.func @short
// CHECK-NOT: vector.reduction
func.func @short(%x: memref<8x20xi32>, %best: memref<8xi32>, %at: memref<8xi64>) {
  linalg.generic {indexing_maps = [#in, #out, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<8x20xi32>) outs(%best, %at : memref<8xi32>, memref<8xi64>) {
  ^bb0(%a: i32, %b: i32, %i: i64):
    %wins = arith.cmpi slt, %a, %b : i32
    %here = linalg.index 1 : index
    %j = arith.index_cast %here : index to i64
    %r = arith.select %wins, %a, %b : i32
    %s = arith.select %wins, %j, %i : i64
    linalg.yield %r, %s : i32, i64
  }
  return
}
