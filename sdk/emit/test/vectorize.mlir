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

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d1)>

// Results are lanes: a block of eight vectors of them. A sum in f64 is of runs
// in f32.
// CHECK-LABEL: func.func @sum_outer
// CHECK: scf.for {{.*}} step %c64{{.*}} -> (vector<16xf64>
// CHECK: scf.for {{.*}} -> (vector<16xf32>
// CHECK-COUNT-8: arith.addf {{.*}} : vector<16xf32>
// CHECK: scf.yield
// CHECK-COUNT-8: arith.extf {{.*}} : vector<16xf32> to vector<16xf64>
// CHECK-COUNT-8: vector.store {{.*}} vector<16xf64>
func.func @sum_outer(%a: memref<1000x128xf32>, %o: memref<128xf64>) {
  linalg.generic {indexing_maps = [#in, #out],
                  iterator_types = ["reduction", "parallel"]}
      ins(%a : memref<1000x128xf32>) outs(%o : memref<128xf64>) {
  ^bb0(%x: f32, %old: f64):
    %w = arith.extf %x : f32 to f64
    %y = arith.addf %old, %w : f64
    linalg.yield %y : f64
  }
  return
}

// -----

#image = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 * 2 + d3, d2 * 2 + d4)>
#weight = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d4)>
#out = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>

// A window is written out for a block of five rows; the last vector of a row has
// a mask. Each row of the window is a sum of its own, products are added in one
// rounding.
// CHECK-LABEL: func.func @depthwise
// CHECK: scf.for {{.*}} %c8{{.*}} step %c1
// CHECK: scf.for {{.*}} step %c5
// CHECK-NOT: scf.for
// CHECK: vector.maskedload
// CHECK: vector.shuffle
// CHECK-COUNT-45: math.fma
// CHECK-NOT: math.fma
// CHECK-COUNT-5: vector.maskedstore
func.func @depthwise(%w: memref<8x3x3xf32>, %a: memref<8x31x31xf32>,
                     %o: memref<8x15x15xf32>) {
  linalg.generic {indexing_maps = [#weight, #image, #out],
                  iterator_types = ["parallel", "parallel", "parallel",
                                    "reduction", "reduction"]}
      ins(%w, %a : memref<8x3x3xf32>, memref<8x31x31xf32>)
      outs(%o : memref<8x15x15xf32>) {
  ^bb0(%k: f32, %x: f32, %old: f32):
    %p = arith.mulf %k, %x : f32
    %y = arith.addf %old, %p : f32
    linalg.yield %y : f32
  }
  return
}

// -----

#in = affine_map<(d0) -> (d0 * 2)>
#id = affine_map<(d0) -> (d0)>

// Every other element: whole vectors end with the last element that is needed.
// CHECK-LABEL: func.func @alternate
// CHECK: arith.addi {{.*}}%c15
// CHECK: vector.shuffle {{.*}} [0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31]
func.func @alternate(%a: memref<127xf32>, %o: memref<64xf32>) {
  linalg.generic {indexing_maps = [#in, #id], iterator_types = ["parallel"]}
      ins(%a : memref<127xf32>) outs(%o : memref<64xf32>) {
  ^bb0(%x: f32, %old: f32):
    %y = arith.negf %x : f32
    linalg.yield %y : f32
  }
  return
}

// -----

#image = affine_map<(d0, d1, d2) -> (d0, d1 + d2)>
#window = affine_map<(d0, d1, d2) -> (d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1)>

// A short loop is no reason for a horizontal maximum: results are lanes.
// CHECK-LABEL: func.func @maximum
// CHECK-NOT: vector.reduction
// CHECK: arith.maximumf {{.*}} : vector<16xf32>
// CHECK-NOT: vector.reduction
func.func @maximum(%a: memref<8x32xf32>, %w: memref<13xf32>,
                   %o: memref<8x20xf32>) {
  linalg.generic {indexing_maps = [#image, #window, #out],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : memref<8x32xf32>, memref<13xf32>)
      outs(%o : memref<8x20xf32>) {
  ^bb0(%x: f32, %unused: f32, %old: f32):
    %y = arith.maximumf %x, %old : f32
    linalg.yield %y : f32
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d1)>

// Many rows are a loop, whose reads processors foresee; few are written out.
// CHECK-LABEL: func.func @many_rows
// CHECK: scf.for {{.*}} to %c40
// CHECK-COUNT-4: arith.maximumf {{.*}} : vector<16xf32>
// CHECK: scf.yield
// CHECK-NOT: arith.maximumf
func.func @many_rows(%x: memref<40x64xf32>, %o: memref<64xf32>) {
  linalg.generic {indexing_maps = [#in, #out], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<40x64xf32>) outs(%o : memref<64xf32>) {
  ^bb0(%a: f32, %old: f32):
    %m = arith.maximumf %a, %old : f32
    linalg.yield %m : f32
  }
  return
}

// -----

// Copies and fills of rows of one element run along the axis before.
// CHECK-LABEL: func.func @inner_unit
// CHECK: vector.store {{.*}} : memref<264xf32{{.*}}>, vector<16xf32>
// CHECK: vector.load {{.*}} : memref<256xf32{{.*}}>, vector<16xf32>
// CHECK: vector.store {{.*}} : memref<256xf32{{.*}}>, vector<16xf32>
func.func @inner_unit(%x: memref<256x1x1xf32>, %o: memref<264x1x1xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%o : memref<264x1x1xf32>)
  %part = memref.subview %o[5, 0, 0] [256, 1, 1] [1, 1, 1]
      : memref<264x1x1xf32> to memref<256x1x1xf32, strided<[1, 1, 1], offset: 5>>
  linalg.copy ins(%x : memref<256x1x1xf32>)
      outs(%part : memref<256x1x1xf32, strided<[1, 1, 1], offset: 5>>)
  return
}

// -----

#planes = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#kept = affine_map<(d0, d1, d2) -> (d0)>

// Axes that lie one after the other in memory are one loop.
// CHECK-LABEL: func.func @planes
// CHECK: memref.collapse_shape {{.*}} : memref<64x7x7xf32{{.*}}> into memref<64x49xf32
// CHECK: vector.load {{.*}} vector<16xf32>
func.func @planes(%a: memref<64x7x7xf32, strided<[49, 7, 1], offset: ?>>, %o: memref<64xf32>) {
  linalg.generic {indexing_maps = [#planes, #kept],
                  iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%a : memref<64x7x7xf32, strided<[49, 7, 1], offset: ?>>) outs(%o : memref<64xf32>) {
  ^bb0(%x: f32, %old: f32):
    %y = arith.addf %x, %old : f32
    linalg.yield %y : f32
  }
  return
}

// -----

#planes = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#kept = affine_map<(d0, d1, d2) -> (d0)>

// Rows with something between them are not.
// CHECK-LABEL: func.func @parts
// CHECK-NOT: memref.collapse_shape
func.func @parts(%a: memref<64x7x7xf32, strided<[98, 14, 1]>>, %o: memref<64xf32>) {
  linalg.generic {indexing_maps = [#planes, #kept],
                  iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%a : memref<64x7x7xf32, strided<[98, 14, 1]>>) outs(%o : memref<64xf32>) {
  ^bb0(%x: f32, %old: f32):
    %y = arith.addf %x, %old : f32
    linalg.yield %y : f32
  }
  return
}

// -----

#rows = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#kept = affine_map<(d0, d1, d2) -> (d0, d1)>

// Nor is one of which the distance of elements would no longer be known.
// CHECK-LABEL: func.func @unit
// CHECK-NOT: memref.collapse_shape
func.func @unit(%a: memref<1x?x3xf32, strided<[300, 3, 1]>>, %o: memref<1x?xf32, strided<[100, 1]>>) {
  linalg.generic {indexing_maps = [#rows, #kept],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a : memref<1x?x3xf32, strided<[300, 3, 1]>>) outs(%o : memref<1x?xf32, strided<[100, 1]>>) {
  ^bb0(%x: f32, %old: f32):
    %y = arith.maximumf %x, %old : f32
    linalg.yield %y : f32
  }
  return
}
