// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-per-element -split-input-file -verify-diagnostics | FileCheck %s

// A sum is a loop that carries it; what follows it, and the image's border, is
// computed with it.
// CHECK-LABEL: func.func @sum(
// CHECK-SAME: %[[IN:.*]]: memref<?x4xf32>{{.*}}, %[[OUT:.*]]: memref<?xf32>
// CHECK: scf.forall (%[[I:.*]]) in (%{{.*}}) {
// CHECK: %[[S:.*]] = scf.for %[[K:.*]] = %c0 to %c6 step %c1 iter_args(%[[ACC:.*]] = %{{.*}}) -> (f32) {
// CHECK: %[[AT:.*]] = arith.subi %[[K]], %c1
// CHECK: %[[X:.*]] = scf.if
// CHECK: %[[V:.*]] = memref.load %[[IN]][%[[I]], %[[AT]]]
// CHECK: scf.yield %[[V]]
// CHECK: arith.addf %[[ACC]], %[[X]]
// CHECK: %[[N:.*]] = arith.negf %[[S]]
// CHECK: memref.store %[[N]], %[[OUT]][%[[I]]]
// CHECK-NOT: linalg
func.func @sum(%in: tensor<?x4xf32> {bp.dims = ["n", "4"]},
               %out: tensor<?xf32> {bp.dims = ["n"]}, %n: index)
    -> tensor<?xf32> attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64,
                                 bp.symbols = ["n"]} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %p = tensor.pad %in low[0, 1] high[0, 1] {
  ^bb0(%a: index, %b: index):
    tensor.yield %zero : f32
  } : tensor<?x4xf32> to tensor<?x6xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%p : tensor<?x6xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.addf %o, %x : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%s : tensor<?xf32>) outs(%out : tensor<?xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.negf %x : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// Of several loops the innermost adds up from zero: a chain over all of them
// would round as often as there are terms. An integer has one chain.
// CHECK-LABEL: func.func @windows(
// CHECK: %[[START:.*]] = memref.load
// CHECK: %[[ALL:.*]] = scf.for %{{.*}} iter_args(%[[ACC:.*]] = %[[START]]) -> (f32) {
// CHECK:   %[[ROW:.*]] = scf.for %{{.*}} iter_args(%[[PART:.*]] = %{{.*}}) -> (f32) {
// CHECK:     arith.addf %[[PART]], %{{.*}} : f32
// CHECK:   }
// CHECK:   %[[SUM:.*]] = arith.addf %[[ACC]], %[[ROW]] : f32
// CHECK:   scf.yield %[[SUM]] : f32
// CHECK: scf.for %{{.*}} iter_args(%[[COUNT:.*]] = %{{.*}}) -> (i32) {
// CHECK:   scf.for %{{.*}} iter_args(%[[INNER:.*]] = %[[COUNT]]) -> (i32) {
// CHECK:     arith.addi %[[INNER]], %{{.*}} : i32
func.func @windows(%x: tensor<4x3x3xf32>, %bias: tensor<4xf32>,
                   %y: tensor<4x3x3xi32>, %a: tensor<4xf32>, %b: tensor<4xi32>)
    -> (tensor<4xf32>, tensor<4xi32>)
    attributes {bp.inputs = 3 : i64, bp.outputs = 2 : i64} {
  %s = linalg.generic {indexing_maps = [affine_map<(c, i, j) -> (c, i, j)>, affine_map<(c, i, j) -> (c)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%x : tensor<4x3x3xf32>) outs(%bias : tensor<4xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.addf %o, %v : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  %zero = arith.constant 0 : i32
  %f = linalg.fill ins(%zero : i32) outs(%b : tensor<4xi32>) -> tensor<4xi32>
  %n = linalg.generic {indexing_maps = [affine_map<(c, i, j) -> (c, i, j)>, affine_map<(c, i, j) -> (c)>], iterator_types = ["parallel", "reduction", "reduction"]} ins(%y : tensor<4x3x3xi32>) outs(%f : tensor<4xi32>) {
  ^bb0(%v: i32, %o: i32):
    %t = arith.addi %o, %v : i32
    linalg.yield %t : i32
  } -> tensor<4xi32>
  return %s, %n : tensor<4xf32>, tensor<4xi32>
}

// -----

// Results of two shapes are two loops; a box is a condition, not a copy.
// CHECK-LABEL: func.func @shapes(
// CHECK: scf.forall (%{{.*}}) in (8) {
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK: scf.forall (%{{.*}}) in (4) {
// CHECK-NOT: scf.forall
func.func @shapes(%x: tensor<4xf32>, %a: tensor<8xf32>, %b: tensor<4xf32>)
    -> (tensor<8xf32>, tensor<4xf32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 2 : i64} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%b : tensor<4xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = math.absf %v : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  %one = arith.constant 1.0 : f32
  %f = linalg.fill ins(%one : f32) outs(%a : tensor<8xf32>) -> tensor<8xf32>
  %1 = tensor.insert_slice %x into %f[2] [4] [1] : tensor<4xf32> into tensor<8xf32>
  return %1, %0 : tensor<8xf32>, tensor<4xf32>
}

// -----

// Loops that carry a tensor are left alone.
// CHECK-LABEL: func.func @ordered(
// CHECK: scf.for
// CHECK-NOT: scf.forall
func.func @ordered(%x: tensor<4xf32>, %a: tensor<4xf32>) -> tensor<4xf32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %a) -> tensor<4xf32> {
    %v = tensor.extract %x[%i] : tensor<4xf32>
    %u = tensor.insert %v into %t[%i] : tensor<4xf32>
    scf.yield %u : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

func.func @unknown(%x: tensor<4xf32>, %a: tensor<4xf32>) -> tensor<4xf32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  // expected-error @+1 {{has no elements by themselves}}
  %r = tensor.generate {
  ^bb0(%i: index):
    %v = tensor.extract %x[%i] : tensor<4xf32>
    tensor.yield %v : f32
  } : tensor<4xf32>
  return %r : tensor<4xf32>
}
