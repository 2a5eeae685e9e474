// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-vectorize=vector-bits=512 -split-input-file | FileCheck %s

#rows = affine_map<(d0, d1, d2, d3) -> (d0, d2)>
#id = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>

// Each element three times in a row: one load, three shuffles and stores; of
// the last 12 elements 36 results are left, of which the third vector has four.
// CHECK-LABEL: func.func @thrice
// CHECK: %[[ROWS:.*]] = memref.collapse_shape %arg1 {{\[\[}}0], [1], [2, 3]] : memref<?x2x28x3xf32> into memref<?x2x84xf32>
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[X:.*]] = vector.load %arg0[{{.*}}] : memref<?x28xf32>, vector<16xf32>
// CHECK: vector.shuffle %[[X]], %[[X]] [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5]
// CHECK: vector.store {{.*}}, %[[ROWS]]
// CHECK: vector.shuffle %[[X]], %[[X]] [5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10]
// CHECK: vector.shuffle %[[X]], %[[X]] [10, 11, 11, 11, 12, 12, 12, 13, 13, 13, 14, 14, 14, 15, 15, 15]
// CHECK: vector.maskedload %arg0
// CHECK: vector.create_mask
// CHECK-COUNT-3: vector.maskedstore %[[ROWS]]
// CHECK-NOT: linalg.generic
func.func @thrice(%x: memref<?x28xf32>, %o: memref<?x2x28x3xf32>) {
  linalg.generic {indexing_maps = [#rows, #id],
                  iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x : memref<?x28xf32>) outs(%o : memref<?x2x28x3xf32>) {
  ^bb0(%in: f32, %old: f32):
    linalg.yield %in : f32
  }
  return
}

// -----

#row = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// Another operand that has an element for each result is read as it lies.
// CHECK-LABEL: func.func @sum
// CHECK: memref.collapse_shape %arg1
// CHECK: vector.load %arg0[{{.*}}] : memref<?xf32>, vector<16xf32>
// CHECK: vector.load {{.*}} : memref<?xf32, strided<[1], offset: ?>>, vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK-NOT: linalg.generic
func.func @sum(%x: memref<?xf32>, %y: memref<?x2xf32, strided<[2, 1], offset: ?>>,
               %o: memref<?x2xf32>) {
  linalg.generic {indexing_maps = [#row, #id, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : memref<?xf32>, memref<?x2xf32, strided<[2, 1], offset: ?>>)
      outs(%o : memref<?x2xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#row = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// Rows that are not neighbours are no row of pairs.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: memref.collapse_shape
func.func @apart(%x: memref<?xf32>, %o: memref<?x2xf32, strided<[4, 1]>>) {
  linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<?xf32>) outs(%o : memref<?x2xf32, strided<[4, 1]>>) {
  ^bb0(%in: f32, %old: f32):
    linalg.yield %in : f32
  }
  return
}
