// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-distribute -split-input-file | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Neighbouring loops are one; a work-group has a piece of it.
// CHECK-LABEL: func.func @flat
// CHECK: scf.forall {{.*}} = (0) to (4194304) step (65536)
func.func @flat(%a: tensor<2048x2048xf32>, %o: tensor<2048x2048xf32>)
    -> tensor<2048x2048xf32> attributes {bp.inputs = 1 : i64,
                                         bp.outputs = 1 : i64} {
  %r = linalg.generic {indexing_maps = [#id, #id],
                       iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<2048x2048xf32>) outs(%o : tensor<2048x2048xf32>) {
  ^bb0(%x: f32, %old: f32):
    %y = arith.addf %x, %x : f32
    linalg.yield %y : f32
  } -> tensor<2048x2048xf32>
  return %r : tensor<2048x2048xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Rows are split, the reduced loop is not; the sum moves into the work-group.
// CHECK-LABEL: func.func @rows
// CHECK-NOT: linalg.generic
// CHECK: scf.forall (%{{[^,]*}}) = (0) to (4096)
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK: linalg.generic {{.*}}"parallel", "parallel"
func.func @rows(%a: tensor<4096x1024xf32>, %o: tensor<4096x1024xf32>)
    -> tensor<4096x1024xf32> attributes {bp.inputs = 1 : i64,
                                         bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4096xf32>)
      -> tensor<4096xf32>
  %s = linalg.generic {indexing_maps = [#id, #row],
                       iterator_types = ["parallel", "reduction"]}
      ins(%a : tensor<4096x1024xf32>) outs(%f : tensor<4096xf32>) {
  ^bb0(%x: f32, %old: f32):
    %y = arith.addf %x, %old : f32
    linalg.yield %y : f32
  } -> tensor<4096xf32>
  %r = linalg.generic {indexing_maps = [#id, #row, #id],
                       iterator_types = ["parallel", "parallel"]}
      ins(%a, %s : tensor<4096x1024xf32>, tensor<4096xf32>)
      outs(%o : tensor<4096x1024xf32>) {
  ^bb0(%x: f32, %sum: f32, %old: f32):
    %y = arith.divf %x, %sum : f32
    linalg.yield %y : f32
  } -> tensor<4096x1024xf32>
  return %r : tensor<4096x1024xf32>
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d1)>

// Of neighbours in memory a group has a block of vectors, however much work each
// of them is.
// CHECK-LABEL: func.func @columns
// CHECK: scf.forall {{.*}} = (0) to (512) step (128)
func.func @columns(%a: tensor<8192x512xf32>, %o: tensor<512xf32>)
    -> tensor<512xf32> attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<512xf32>)
      -> tensor<512xf32>
  %r = linalg.generic {indexing_maps = [#in, #out],
                       iterator_types = ["reduction", "parallel"]}
      ins(%a : tensor<8192x512xf32>) outs(%f : tensor<512xf32>) {
  ^bb0(%x: f32, %old: f32):
    %y = arith.maximumf %x, %old : f32
    linalg.yield %y : f32
  } -> tensor<512xf32>
  return %r : tensor<512xf32>
}

// -----

#weight = affine_map<(d0, d1) -> (d0, d1)>
#image = affine_map<(d0, d1, d2, d3) -> (d1, d2 + d3)>
#taps = affine_map<(d0, d1, d2, d3) -> (d0, d3)>
#sums = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>

// What is costly to compute is not computed again for each tile of a reduction
// that uses all of it: only the loop that picks a part of it is split.
// CHECK-LABEL: func.func @costly
// CHECK: scf.forall (%{{[^,]*}}) in (64)
func.func @costly(%w: tensor<64x64xf32>, %x: tensor<64x319xf32>,
                  %o: tensor<64x64x256xf32>) -> tensor<64x64x256xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %p = linalg.generic {indexing_maps = [#weight, #weight],
                       iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<64x64xf32>) outs(%e : tensor<64x64xf32>) {
  ^bb0(%a: f32, %old: f32):
    %1 = arith.mulf %a, %a : f32
    %2 = arith.mulf %1, %1 : f32
    %3 = arith.addf %2, %a : f32
    %4 = arith.mulf %3, %3 : f32
    %5 = arith.addf %4, %a : f32
    %6 = arith.mulf %5, %5 : f32
    %7 = arith.addf %6, %a : f32
    linalg.yield %7 : f32
  } -> tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<64x64x256xf32>)
      -> tensor<64x64x256xf32>
  %r = linalg.generic {indexing_maps = [#taps, #image, #sums],
                       iterator_types = ["parallel", "parallel", "parallel",
                                         "reduction"]}
      ins(%p, %x : tensor<64x64xf32>, tensor<64x319xf32>)
      outs(%f : tensor<64x64x256xf32>) {
  ^bb0(%k: f32, %v: f32, %old: f32):
    %m = arith.mulf %k, %v : f32
    %s = arith.addf %old, %m : f32
    linalg.yield %s : f32
  } -> tensor<64x64x256xf32>
  return %r : tensor<64x64x256xf32>
}

// -----

#in = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#out = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// An innermost axis of one element is no loop.
// CHECK-LABEL: func.func @inner_unit
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
func.func @inner_unit(%a: tensor<256x512x1xf32>, %o: tensor<512x256x1xf32>)
    -> tensor<512x256x1xf32> attributes {bp.inputs = 1 : i64,
                                         bp.outputs = 1 : i64} {
  %r = linalg.generic {indexing_maps = [#in, #out],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a : tensor<256x512x1xf32>) outs(%o : tensor<512x256x1xf32>) {
  ^bb0(%x: f32, %old: f32):
    linalg.yield %x : f32
  } -> tensor<512x256x1xf32>
  return %r : tensor<512x256x1xf32>
}

// -----

#at = affine_map<(d0, d1, d2) -> (d1)>
#out = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// Nor is it one of what a gather reads.
// CHECK-LABEL: func.func @inner_unit_of_gather
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
// CHECK: tensor.extract %{{[^[]*}}[%{{[^,]*}}, %{{[^,]*}}] : tensor<64x512xf32>
func.func @inner_unit_of_gather(%x: tensor<64x512x1xf32>, %i: tensor<100xi64>,
                                %o: tensor<64x100x1xf32>)
    -> tensor<64x100x1xf32> attributes {bp.inputs = 2 : i64,
                                        bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : index
  %r = linalg.generic {indexing_maps = [#at, #out],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%i : tensor<100xi64>) outs(%o : tensor<64x100x1xf32>) {
  ^bb0(%k: i64, %old: f32):
    %row = linalg.index 0 : index
    %column = arith.index_cast %k : i64 to index
    %e = tensor.extract %x[%row, %column, %zero] : tensor<64x512x1xf32>
    linalg.yield %e : f32
  } -> tensor<64x100x1xf32>
  return %r : tensor<64x100x1xf32>
}

// -----

// Some microseconds of work are two groups: of the longest loop where that is
// no other one.
// CHECK-LABEL: func.func @two_groups
// CHECK: scf.forall (%{{.*}}) = (0) to (16384) step (8192)
func.func @two_groups(%x: tensor<16384x6xf32>, %out: tensor<6x16384xf32>)
    -> tensor<6x16384xf32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>,
                                        affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<16384x6xf32>) outs(%out : tensor<6x16384xf32>) {
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  } -> tensor<6x16384xf32>
  return %r : tensor<6x16384xf32>
}

// -----

// CHECK-LABEL: func.func @one_group
// CHECK-NOT: scf.forall
// CHECK: return
func.func @one_group(%x: tensor<4096x6xf32>, %out: tensor<6x4096xf32>)
    -> tensor<6x4096xf32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>,
                                        affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4096x6xf32>) outs(%out : tensor<6x4096xf32>) {
  ^bb0(%a: f32, %old: f32):
    linalg.yield %a : f32
  } -> tensor<6x4096xf32>
  return %r : tensor<6x4096xf32>
}
