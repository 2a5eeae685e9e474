// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-vectorize=vector-bits=512 -split-input-file | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// Whole vectors, then the rest under a mask.
// CHECK-LABEL: func.func @elementwise
// CHECK: scf.for
// CHECK: vector.load {{.*}} vector<16xf32>
// CHECK: arith.negf {{.*}} : vector<16xf32>
// CHECK: scf.for
// CHECK: vector.create_mask
// CHECK: vector.maskedload
// CHECK: vector.maskedstore
func.func @elementwise(%a: memref<?xf32>, %o: memref<?xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%a : memref<?xf32>) outs(%o : memref<?xf32>) {
  ^bb0(%x: f32, %old: f32):
    %y = arith.negf %x : f32
    linalg.yield %y : f32
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// Four partial sums per lane, one horizontal sum at the end.
// CHECK-LABEL: func.func @sum
// CHECK-COUNT-4: arith.addf {{.*}} : vector<16xf32>
// CHECK: arith.select
// CHECK: vector.reduction <add>
func.func @sum(%a: memref<8x256xf32>, %o: memref<8xf32>) {
  linalg.generic {indexing_maps = [#in, #out],
                  iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<8x256xf32>) outs(%o : memref<8xf32>) {
  ^bb0(%x: f32, %old: f32):
    %y = arith.addf %x, %old : f32
    linalg.yield %y : f32
  }
  return
}

// -----

#id = affine_map<(d0) -> (d0)>

// A body with effects stays as it is.
// CHECK-LABEL: func.func @reports
// CHECK: linalg.generic
func.func @reports(%a: memref<64xi32>, %o: memref<64xi32>,
                   %error: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%a : memref<64xi32>) outs(%o : memref<64xi32>) {
  ^bb0(%x: i32, %old: i32):
    %bad = arith.cmpi slt, %x, %zero : i32
    scf.if %bad {
      memref.store %x, %error[%c0] : memref<1xi32>
    }
    linalg.yield %x : i32
  }
  return
}
