// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-vectorize=vector-bits=512 -split-input-file | FileCheck %s

#index = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// Rows are picked: each is loaded as it lies.
// CHECK-LABEL: func.func @rows
// CHECK: scf.for
// CHECK: scf.for
// CHECK: vector.load %arg0[{{.*}}] : memref<1000x64xf32>, vector<8xf32>
// CHECK: vector.store
// CHECK-NOT: linalg.generic
func.func @rows(%t: memref<1000x64xf32>, %i: memref<16xi64>,
                %o: memref<16x64xf32>) {
  linalg.generic {indexing_maps = [#index, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%i : memref<16xi64>) outs(%o : memref<16x64xf32>) {
  ^bb0(%x: i64, %old: f32):
    %row = arith.index_cast %x : i64 to index
    %column = linalg.index 1 : index
    %y = memref.load %t[%row, %column] : memref<1000x64xf32>
    linalg.yield %y : f32
  }
  return
}

// -----

#index = affine_map<(d0, d1) -> (d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// Columns are picked: a gather, at the edge too.
// CHECK-LABEL: func.func @columns
// CHECK: vector.gather %arg0[{{.*}}] [{{.*}}], {{.*}} : memref<16x1000xf32>, vector<8xindex>
// CHECK: vector.create_mask
// CHECK: vector.gather
// CHECK-NOT: linalg.generic
func.func @columns(%t: memref<16x1000xf32>, %i: memref<?xi64>,
                   %o: memref<16x?xf32>) {
  linalg.generic {indexing_maps = [#index, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%i : memref<?xi64>) outs(%o : memref<16x?xf32>) {
  ^bb0(%x: i64, %old: f32):
    %row = linalg.index 0 : index
    %column = arith.index_cast %x : i64 to index
    %y = memref.load %t[%row, %column] : memref<16x1000xf32>
    linalg.yield %y : f32
  }
  return
}

// -----

#id = affine_map<(d0) -> (d0)>

// What arithmetic alone picks stays a scalar loop.
// CHECK-LABEL: func.func @backwards
// CHECK: linalg.generic
func.func @backwards(%t: memref<64xf32>, %o: memref<64xf32>) {
  %last = arith.constant 63 : index
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]}
      outs(%o : memref<64xf32>) {
  ^bb0(%old: f32):
    %i = linalg.index 0 : index
    %at = arith.subi %last, %i : index
    %y = memref.load %t[%at] : memref<64xf32>
    linalg.yield %y : f32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// Indices that go in steps of one or stand still, as those of a padded row do:
// neighbours where the last lane is as far from the first as it can be.
// CHECK-LABEL: func.func @near
// CHECK: %[[WHOLE:.*]] = arith.cmpi eq
// CHECK: scf.if %[[WHOLE]]
// CHECK: vector.load %arg0
// CHECK: else
// CHECK: vector.gather %arg0
// CHECK: vector.store
func.func @near(%x: memref<8x64xf32>, %o: memref<8x68xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c63 = arith.constant 63 : index
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
      outs(%o : memref<8x68xf32>) {
  ^bb0(%old: f32):
    %row = linalg.index 0 : index
    %column = linalg.index 1 : index
    %inside = arith.subi %column, %c2 : index
    %below = arith.minsi %inside, %c63 : index
    %at = arith.maxsi %below, %c0 : index
    %y = memref.load %x[%row, %at] : memref<8x64xf32>
    linalg.yield %y : f32
  }
  return
}
