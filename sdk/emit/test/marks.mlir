// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-vectorize="vector-bits=512 compare-maxima=true" -split-input-file | FileCheck %s
// RUN: bp-opt %s -bp-vectorize=vector-bits=512 -split-input-file | FileCheck %s --check-prefix=PLAIN

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// One division for each row, before its loop.
// CHECK-LABEL: func.func @share
// CHECK: scf.for
// CHECK: %[[S:.*]] = memref.load
// CHECK: %[[R:.*]] = arith.divf %{{.*}}, %[[S]] : f32
// CHECK: scf.for
// CHECK: %[[Q:.*]] = arith.mulf {{.*}} : vector<16xf32>
// CHECK: %[[N:.*]] = arith.negf %[[Q]]
// CHECK: %[[REST:.*]] = math.fma %[[N]]
// CHECK: math.fma %[[REST]], %{{.*}}, %[[Q]]
// CHECK-NOT: arith.divf {{.*}} : vector
// PLAIN-LABEL: func.func @share
// PLAIN-NOT: arith.divf {{.*}} : vector
func.func @share(%x: memref<8x64xf32>, %s: memref<8xf32>, %o: memref<8x64xf32>) {
  linalg.generic {indexing_maps = [#id, #row, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : memref<8x64xf32>, memref<8xf32>) outs(%o : memref<8x64xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %y = arith.divf %a, %b {bp.share} : f32
    linalg.yield %y : f32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Any other quotient may overflow on the way.
// CHECK-LABEL: func.func @quotient
// PLAIN-LABEL: func.func @quotient
// CHECK: arith.divf {{.*}} : vector<16xf32>
func.func @quotient(%x: memref<8x64xf32>, %s: memref<8xf32>, %o: memref<8x64xf32>) {
  linalg.generic {indexing_maps = [#id, #row, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : memref<8x64xf32>, memref<8xf32>) outs(%o : memref<8x64xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %y = arith.divf %a, %b : f32
    linalg.yield %y : f32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A comparison with the best so far, which NaN never passes; the lanes then
// have numbers only.
// CHECK-LABEL: func.func @maximum
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args(%[[BEST:[a-z0-9]*]] =
// CHECK: %[[C:.*]] = arith.cmpf ogt, %[[X:.*]], %[[BEST]] : vector<16xf32>
// CHECK: arith.select %[[C]], %[[X]], %[[BEST]]
// CHECK-NOT: arith.maximumf
// CHECK: vector.reduction <maxnumf>, {{.*}} fastmath<nnan,nsz>
// CHECK-NOT: arith.maximumf
// CHECK: return
// PLAIN-LABEL: func.func @maximum
// PLAIN: arith.maximumf {{.*}} {bp.numbers} : vector<16xf32>
// PLAIN: vector.reduction <maximumf>
func.func @maximum(%x: memref<8x64xf32>, %o: memref<8xf32>) {
  linalg.generic {indexing_maps = [#id, #row],
                  iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<8x64xf32>) outs(%o : memref<8xf32>) {
  ^bb0(%a: f32, %old: f32):
    %y = arith.maximumf %old, %a {bp.numbers} : f32
    linalg.yield %y : f32
  }
  return
}
