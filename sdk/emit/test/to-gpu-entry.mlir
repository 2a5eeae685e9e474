// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-to-gpu-entry -split-input-file -verify-diagnostics | FileCheck %s

// Iterations are numbered; where all buffers have the sizes of the loop, the
// number is the place.
// CHECK: bp.entry = {access = [1, 1, 2], coherent = false, constants = 1 : i64
// CHECK-SAME: name = "add", workgroup = [128, 1, 1], workspace = "0"
// CHECK-LABEL: func.func @add(
// CHECK-SAME: %[[X:.*]]: memref<?xf32> {bp.binding = 0 : i64}, %[[Y:.*]]: memref<?xf32> {bp.binding = 1 : i64}, %[[OUT:.*]]: memref<?xf32> {bp.binding = 2 : i64}, %[[N:.*]]: index)
// CHECK: %[[ID:.*]] = arith.addi %{{.*}}, %thread_id_x
// CHECK: %[[COUNT:.*]] = arith.muli %[[N]], %c4
// CHECK: arith.cmpi ult, %[[ID]], %[[COUNT]]
// CHECK: scf.if
// CHECK: %[[J:.*]] = arith.remui %[[ID]], %c4
// CHECK: memref.load %[[X]][%[[ID]]]
// CHECK: memref.load %[[Y]][%[[J]]]
// CHECK: memref.store %{{.*}}, %[[OUT]][%[[ID]]]
func.func @add(%x: memref<?x4xf32> {bp.dims = ["n", "4"]}, %y: memref<4xf32>,
               %out: memref<?x4xf32> {bp.dims = ["n", "4"]}, %n: index)
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64, bp.symbols = ["n"]} {
  scf.forall (%i, %j) in (%n, 4) {
    %a = memref.load %x[%i, %j] : memref<?x4xf32>
    %b = memref.load %y[%j] : memref<4xf32>
    %c = arith.addf %a, %b : f32
    memref.store %c, %out[%i, %j] : memref<?x4xf32>
  }
  return
}

// -----

// What is not parallel is the work of one invocation. A small temporary is its
// own, a large one a range of the workspace; the error word has a place.
// CHECK: bp.entry = {access = [1, 2], coherent = false, constants = 0 : i64, grid = ["1", "1", "1"], name = "order", workgroup = [1, 1, 1], workspace = "4096"}
// CHECK-LABEL: func.func @order(
// CHECK-SAME: memref<?xi32> {bp.binding = 2 : i64}, %[[SPACE:.*]]: memref<?xf32> {bp.binding = 3 : i64})
// CHECK: memref.alloca() : memref<4xf32>
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[SPACE]]
func.func @order(%x: memref<1024xf32>, %out: memref<1024xf32>, %error: memref<1xi32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64, bp.error} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = arith.constant 1024 : index
  %code = arith.constant 1 : i32
  %t = memref.alloc() : memref<1024xf32>
  %s = memref.alloc() : memref<2x2xf32>
  scf.for %i = %c0 to %size step %c1 {
    %a = memref.load %x[%i] : memref<1024xf32>
    memref.store %a, %t[%i] : memref<1024xf32>
    memref.store %a, %s[%c1, %c0] : memref<2x2xf32>
  }
  scf.for %i = %c0 to %size step %c1 {
    %a = memref.load %t[%i] : memref<1024xf32>
    %b = memref.load %s[%c1, %c0] : memref<2x2xf32>
    %c = arith.addf %a, %b : f32
    memref.store %c, %out[%i] : memref<1024xf32>
  }
  memref.store %code, %error[%c0] : memref<1xi32>
  return
}

// -----

// Loops that do not depend on each other run side by side.
// CHECK: grid = ["3", "1", "1"]
// CHECK-LABEL: func.func @two(
// CHECK: scf.if
// CHECK: scf.if
func.func @two(%x: memref<300xf32>, %a: memref<300xf32>, %b: memref<7xf32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 2 : i64} {
  scf.forall (%i) in (300) {
    %v = memref.load %x[%i] : memref<300xf32>
    memref.store %v, %a[%i] : memref<300xf32>
  }
  scf.forall (%i) in (7) {
    %v = memref.load %x[%i] : memref<300xf32>
    memref.store %v, %b[%i] : memref<7xf32>
  }
  return
}

// -----

// A temporary that becomes a result is the result.
// CHECK: workspace = "0"
// CHECK-LABEL: func.func @in_place(
// CHECK-SAME: %{{.*}}: memref<?xf32> {bp.binding = 0 : i64}, %[[OUT:.*]]: memref<?xf32>
// CHECK: memref.store %{{.*}}, %[[OUT]]
// CHECK-NOT: memref.load %[[OUT]]
func.func @in_place(%x: memref<1024xf32>, %out: memref<1024xf32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = arith.constant 1024 : index
  %t = memref.alloc() : memref<1024xf32>
  scf.for %i = %c0 to %size step %c1 {
    %a = memref.load %x[%i] : memref<1024xf32>
    memref.store %a, %t[%i] : memref<1024xf32>
  }
  linalg.copy ins(%t : memref<1024xf32>) outs(%out : memref<1024xf32>)
  return
}

// -----

// How large the workspace is, the symbols may say.
// CHECK: workspace = "64*((n + 15) floordiv 16)"
// CHECK-LABEL: func.func @large(
// CHECK-SAME: index, %[[SPACE:.*]]: memref<?xf32> {bp.binding = 3 : i64})
// CHECK: memref.store %{{.*}}, %[[SPACE]]
func.func @large(%x: memref<?xf32> {bp.dims = ["n"]}, %out: memref<?xf32> {bp.dims = ["n"]}, %n: index)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64, bp.symbols = ["n"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = memref.alloc(%n) : memref<?xf32>
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<?xf32>
    memref.store %a, %t[%i] : memref<?xf32>
  }
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %t[%i] : memref<?xf32>
    memref.store %a, %out[%i] : memref<?xf32>
  }
  return
}

// -----

// A temporary under other dims is read where its elements are.
// CHECK-LABEL: func.func @merged(
// CHECK: %[[T:.*]] = memref.alloca() : memref<15xi8>
// CHECK: memref.store %{{.*}}, %[[T]]
// CHECK: memref.load %[[T]]
// CHECK-NOT: extract_strided_metadata
func.func @merged(%x: memref<3x5xi8>, %out: memref<15xi8>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c15 = arith.constant 15 : index
  %t = memref.alloc() : memref<3x5xi8>
  scf.for %i = %c0 to %c3 step %c1 {
    %a = memref.load %x[%i, %c0] : memref<3x5xi8>
    memref.store %a, %t[%i, %c1] : memref<3x5xi8>
  }
  %line = memref.collapse_shape %t [[0, 1]] : memref<3x5xi8> into memref<15xi8>
  scf.for %i = %c0 to %c15 step %c1 {
    %a = memref.load %line[%i] : memref<15xi8>
    memref.store %a, %out[%i] : memref<15xi8>
  }
  return
}
