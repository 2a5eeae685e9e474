// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-distribute-loops -canonicalize -split-input-file | FileCheck %s

// Iterations that do not meet are shared between work-groups.
// CHECK-LABEL: func.func @lines
// CHECK: scf.forall (%[[FIRST:.*]]) = (0) to (128) step (10)
// CHECK: %[[NEXT:.*]] = arith.addi %[[FIRST]], %c10
// CHECK: %[[END:.*]] = arith.minui %[[NEXT]], %c128
// CHECK: scf.for %[[LINE:.*]] = %[[FIRST]] to %[[END]] step %c1
// CHECK: scf.for %[[I:.*]] = %c0 to %c768
// CHECK: memref.load %arg0[%[[LINE]], %[[I]]]
// CHECK: {bp.independent}
func.func @lines(%x: memref<128x768xf32>, %o: memref<128x768xf32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %c768 = arith.constant 768 : index
  %zero = arith.constant 0.0 : f32
  scf.for %line = %c0 to %c128 step %c1 {
    %all = scf.for %i = %c0 to %c768 step %c1 iter_args(%sum = %zero) -> (f32) {
      %e = memref.load %x[%line, %i] : memref<128x768xf32>
      %next = arith.addf %sum, %e : f32
      memref.store %next, %o[%line, %i] : memref<128x768xf32>
      scf.yield %next : f32
    }
  } {bp.independent}
  return
}

// -----

// Lines that are lanes stay together in blocks of vectors.
// CHECK-LABEL: func.func @lanes
// CHECK: scf.forall (%{{.*}}) = (0) to (%arg2) step (384)
// CHECK: scf.for
func.func @lanes(%x: memref<200x?xf32>, %o: memref<200x?xf32>, %n: index)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c200 = arith.constant 200 : index
  %zero = arith.constant 0.0 : f32
  scf.for %line = %c0 to %n step %c1 {
    %all = scf.for %i = %c0 to %c200 step %c1 iter_args(%sum = %zero) -> (f32) {
      %e = memref.load %x[%i, %line] : memref<200x?xf32>
      %next = arith.addf %sum, %e : f32
      memref.store %next, %o[%i, %line] : memref<200x?xf32>
      scf.yield %next : f32
    }
  } {bp.independent}
  return
}

// -----

// Loops that are not marked may depend on each other; small ones stay whole.
// CHECK-LABEL: func.func @ordered
// CHECK-NOT: scf.forall
func.func @ordered(%x: memref<10000xf32>, %o: memref<1xf32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10000 = arith.constant 10000 : index
  scf.for %i = %c0 to %c10000 step %c1 {
    %e = memref.load %x[%i] : memref<10000xf32>
    memref.store %e, %o[%c0] : memref<1xf32>
  }
  return
}
// CHECK-LABEL: func.func @small
// CHECK-NOT: scf.forall
func.func @small(%x: memref<100xf32>, %o: memref<100xf32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  scf.for %i = %c0 to %c100 step %c1 {
    %e = memref.load %x[%i] : memref<100xf32>
    memref.store %e, %o[%i] : memref<100xf32>
  } {bp.independent}
  return
}

// -----

// Each work-group copies a part of each input to its place.
// CHECK-LABEL: func.func @concat
// CHECK: scf.forall (%[[T:.*]]) in (10) {
// CHECK: %[[FIRST:.*]] = affine.min
// CHECK: %[[COUNT:.*]] = affine.min
// CHECK: memref.subview %arg0[%[[FIRST]], 0] [%[[COUNT]], 100] [1, 1]
// CHECK: linalg.copy
// CHECK: memref.subview %arg1
// CHECK: linalg.copy
func.func @concat(%a: memref<1000x100xf32>, %b: memref<1000x233xf32>, %o: memref<1000x333xf32>)
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %first = memref.subview %o[0, 0] [1000, 100] [1, 1] : memref<1000x333xf32> to memref<1000x100xf32, strided<[333, 1]>>
  linalg.copy ins(%a : memref<1000x100xf32>) outs(%first : memref<1000x100xf32, strided<[333, 1]>>)
  %second = memref.subview %o[0, 100] [1000, 233] [1, 1] : memref<1000x333xf32> to memref<1000x233xf32, strided<[333, 1], offset: 100>>
  linalg.copy ins(%b : memref<1000x233xf32>) outs(%second : memref<1000x233xf32, strided<[333, 1], offset: 100>>)
  return
}

// -----

// Symbolic rows: a place ends where the next one begins.
// CHECK-LABEL: func.func @symbolic
// CHECK: scf.forall (%{{.*}}) in (16) {
// CHECK-COUNT-2: linalg.copy
func.func @symbolic(%a: memref<?x64xf32>, %b: memref<?x64xf32>, %o: memref<?x64xf32>, %n: index, %m: index)
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %first = memref.subview %o[0, 0] [%n, 64] [1, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1]>>
  linalg.copy ins(%a : memref<?x64xf32>) outs(%first : memref<?x64xf32, strided<[64, 1]>>)
  %second = memref.subview %o[%n, 0] [%m, 64] [1, 1] : memref<?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
  linalg.copy ins(%b : memref<?x64xf32>) outs(%second : memref<?x64xf32, strided<[64, 1], offset: ?>>)
  return
}

// -----

// Of copies that overlap, the last one counts; what an output holds is made
// first.
// CHECK-LABEL: func.func @overlap
// CHECK-NOT: scf.forall
func.func @overlap(%a: memref<1000x333xf32>, %b: memref<1000x100xf32>, %o: memref<1000x333xf32>)
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %all = memref.subview %o[0, 0] [1000, 333] [1, 1] : memref<1000x333xf32> to memref<1000x333xf32, strided<[333, 1]>>
  linalg.copy ins(%a : memref<1000x333xf32>) outs(%all : memref<1000x333xf32, strided<[333, 1]>>)
  %some = memref.subview %o[0, 99] [1000, 100] [1, 1] : memref<1000x333xf32> to memref<1000x100xf32, strided<[333, 1], offset: 99>>
  linalg.copy ins(%b : memref<1000x100xf32>) outs(%some : memref<1000x100xf32, strided<[333, 1], offset: 99>>)
  return
}
// CHECK-LABEL: func.func @twice
// CHECK-NOT: scf.forall
func.func @twice(%a: memref<1000x333xf32>, %o: memref<1000x333xf32>, %p: memref<1000x666xf32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 2 : i64} {
  %all = memref.subview %o[0, 0] [1000, 333] [1, 1] : memref<1000x333xf32> to memref<1000x333xf32, strided<[333, 1]>>
  linalg.copy ins(%a : memref<1000x333xf32>) outs(%all : memref<1000x333xf32, strided<[333, 1]>>)
  %some = memref.subview %p[0, 99] [1000, 333] [1, 1] : memref<1000x666xf32> to memref<1000x333xf32, strided<[666, 1], offset: 99>>
  linalg.copy ins(%o : memref<1000x333xf32>) outs(%some : memref<1000x333xf32, strided<[666, 1], offset: 99>>)
  return
}
