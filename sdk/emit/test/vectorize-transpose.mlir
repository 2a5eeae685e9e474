// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-vectorize=vector-bits=512 -split-input-file | FileCheck %s

#in = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// Tiles of 16 by 16 in registers: four steps of shuffles. No rest has a mask.
// CHECK-LABEL: func.func @transpose
// CHECK: scf.for {{.*}} %c64{{.*}} step %c16
// CHECK: scf.for {{.*}} %c32{{.*}} step %c16
// CHECK-COUNT-16: vector.load {{.*}} vector<16xf32>
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: vector.store
// CHECK-NOT: mask
func.func @transpose(%a: memref<32x64xf32>, %o: memref<64x32xf32>) {
  linalg.generic {indexing_maps = [#in, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<32x64xf32>) outs(%o : memref<64x32xf32>) {
  ^bb0(%x: f32, %old: f32):
    linalg.yield %x : f32
  }
  return
}

// -----

#in = affine_map<(d0, d1, d2) -> (d2, d0, d1)>
#row = affine_map<(d0, d1, d2) -> (d2)>
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// Any sizes: whole tiles, and what is left on either side under masks. What
// stands in the order of the results is read as it is.
// CHECK-LABEL: func.func @rest
// CHECK: vector.load {{.*}} vector<16xf32>
// CHECK: vector.shuffle
// CHECK: arith.addf {{.*}} vector<16xf32>
// CHECK: vector.store
// CHECK: vector.create_mask
// CHECK: vector.maskedload
// CHECK: vector.maskedstore
// CHECK-NOT: memref.load
func.func @rest(%a: memref<?x?x?xf32>, %b: memref<?xf32>,
                %o: memref<?x?x?xf32>) {
  linalg.generic {indexing_maps = [#in, #row, #id],
                  iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a, %b : memref<?x?x?xf32>, memref<?xf32>)
      outs(%o : memref<?x?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %old: f32):
    %z = arith.addf %x, %y : f32
    linalg.yield %z : f32
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// As many bytes as f32 would be, not a whole register of 64.
// CHECK-LABEL: func.func @bytes
// CHECK: vector.load {{.*}} vector<16xi8>
// CHECK-COUNT-64: vector.shuffle
// CHECK-NOT: vector.shuffle
func.func @bytes(%a: memref<32x64xi8>, %o: memref<64x32xi8>) {
  linalg.generic {indexing_maps = [#in, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<32x64xi8>) outs(%o : memref<64x32xi8>) {
  ^bb0(%x: i8, %old: i8):
    linalg.yield %x : i8
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d1, d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// Of two rows a tile would be mostly empty.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: vector.shuffle
// CHECK: return
func.func @narrow(%a: memref<2x64xf32>, %o: memref<64x2xf32>) {
  linalg.generic {indexing_maps = [#in, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<2x64xf32>) outs(%o : memref<64x2xf32>) {
  ^bb0(%x: f32, %old: f32):
    linalg.yield %x : f32
  }
  return
}
