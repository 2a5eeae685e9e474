// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-vectorize="vector-bits=512 compare-maxima=true" \
// RUN:   -split-input-file | FileCheck %s

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d1)>

// The loop compares and selects, and keeps signs and NaN; both are put into the
// result at the end.
// CHECK-LABEL: func.func @maximum
// CHECK-NOT: maximumf
// CHECK: scf.for {{.*}} -> (vector<16xf32>, vector<16xi32>, vector<16xi1>
// CHECK: arith.cmpf ogt
// CHECK: arith.select
// CHECK: arith.andi {{.*}} : vector<16xi32>
// CHECK: arith.cmpf uno
// CHECK: arith.ori {{.*}} : vector<16xi1>
// CHECK: scf.yield
// CHECK: arith.cmpf oeq
// CHECK: arith.select
// CHECK: arith.select
// CHECK: vector.store
// CHECK-NOT: maximumf
func.func @maximum(%a: memref<1000x64xf32>, %o: memref<64xf32>) {
  linalg.generic {indexing_maps = [#in, #out],
                  iterator_types = ["reduction", "parallel"]}
      ins(%a : memref<1000x64xf32>) outs(%o : memref<64xf32>) {
  ^bb0(%x: f32, %old: f32):
    %y = arith.maximumf %x, %old : f32
    linalg.yield %y : f32
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// A minimum: -0 is below +0 wherever one is. Each of the three values of the
// lanes is reduced, and the one of the result joined, before they are one again.
// CHECK-LABEL: func.func @minimum
// CHECK: arith.cmpf olt
// CHECK: arith.ori {{.*}} : vector<8xi64>
// CHECK: vector.reduction <minnumf>, {{.*}} fastmath<nnan,nsz> : vector<8xf64>
// CHECK: vector.reduction <or>, {{.*}} : vector<8xi1>
// CHECK: vector.reduction <or>, {{.*}} : vector<8xi1>
// CHECK: arith.cmpf olt, {{.*}} : f64
// CHECK: memref.store
func.func @minimum(%a: memref<4x1000xf64>, %o: memref<4xf64>) {
  linalg.generic {indexing_maps = [#in, #out],
                  iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<4x1000xf64>) outs(%o : memref<4xf64>) {
  ^bb0(%x: f64, %old: f64):
    %y = arith.minimumf %old, %x : f64
    linalg.yield %y : f64
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// Rows that are shorter than a vector: each lane has one of its own.
// CHECK-LABEL: func.func @short_rows
// CHECK-NOT: vector.reduction
// CHECK: vector.store {{.*}} : memref<64xf32>, vector<16xf32>
func.func @short_rows(%a: memref<64x7xf32>, %o: memref<64xf32>) {
  linalg.generic {indexing_maps = [#in, #out],
                  iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<64x7xf32>) outs(%o : memref<64xf32>) {
  ^bb0(%x: f32, %old: f32):
    %y = arith.maximumf %x, %old : f32
    linalg.yield %y : f32
  }
  return
}
