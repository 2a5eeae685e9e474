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
