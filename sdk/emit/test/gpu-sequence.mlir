// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-to-gpu-entry -split-input-file | FileCheck %s
// RUN: bp-opt %s -bp-to-gpu-entry -bp-to-spirv -split-input-file | FileCheck %s --check-prefix=SPIRV

// Independent turns are lines. A long one has members, which do parts of its
// loop in turn and hand on what it carries; the bounds of the loops are known
// before the first.
// CHECK: bp.entry = {access = [1, 2], coherent = true, {{.*}}grid = ["min(32768, (a + 31) floordiv 32)"
// CHECK-LABEL: func.func @running(
// CHECK: %[[SLOT:.*]] = memref.alloc() : memref<128xf32, #gpu.address_space<workgroup>>
// CHECK: %[[BITS:.*]] = arith.select %{{.*}}, %c4
// CHECK: %[[MEMBERS:.*]] = arith.shli %c1, %[[BITS]]
// CHECK: %[[CHUNK:.*]] = arith.maxsi
// CHECK: scf.for
// CHECK:   gpu.barrier
// CHECK:   scf.if
// CHECK-NEXT: memref.store %cst{{.*}}, %[[SLOT]]
// CHECK:   gpu.barrier
// CHECK:   scf.for %{{.*}} = %c0 to %[[MEMBERS]]
// CHECK:     scf.if
// CHECK:       memref.load %[[SLOT]]
// CHECK:       scf.for
// CHECK:         scf.if
// CHECK:           arith.addf
// CHECK:           memref.store
// CHECK:       memref.store %{{.*}}, %[[SLOT]]
// CHECK:     gpu.barrier
// CHECK:   } {bp.in_turn}
// SPIRV-LABEL: spirv.module
// SPIRV: spirv.GlobalVariable @buffer1 bind(0, 1) {aliased, coherent}
// SPIRV: spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|UniformMemory|WorkgroupMemory>
func.func @running(%x: memref<?x?xf32> {bp.dims = ["a", "b"]}, %out: memref<?x?xf32> {bp.dims = ["a", "b"]}, %a: index, %b: index)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64, bp.symbols = ["a", "b"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %a step %c1 {
    %all = scf.for %j = %c0 to %b step %c1 iter_args(%sum = %zero) -> (f32) {
      %v = memref.load %x[%i, %j] : memref<?x?xf32>
      %next = arith.addf %sum, %v : f32
      memref.store %next, %out[%i, %j] : memref<?x?xf32>
      scf.yield %next : f32
    }
  } {bp.independent}
  return
}

// -----

// Short lines are for one invocation each, without barriers.
// CHECK: coherent = true, {{.*}}grid = ["min(32768, (a + 127) floordiv 128)"
// CHECK-LABEL: func.func @short(
// CHECK-NOT: gpu.barrier
// CHECK: scf.for
// CHECK:   scf.if
// CHECK:     scf.for
// CHECK-NOT: gpu.barrier
// CHECK: return
// SPIRV-LABEL: spirv.module
// SPIRV-NOT: spirv.ControlBarrier
// SPIRV: spirv.EntryPoint
func.func @short(%x: memref<?x40xf32> {bp.dims = ["a", "40"]}, %out: memref<?x40xf32> {bp.dims = ["a", "40"]}, %a: index)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64, bp.symbols = ["a"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %a step %c1 {
    %all = scf.for %j = %c0 to %c40 step %c1 iter_args(%sum = %zero) -> (f32) {
      %v = memref.load %x[%i, %j] : memref<?x40xf32>
      %next = arith.addf %sum, %v : f32
      memref.store %next, %out[%i, %j] : memref<?x40xf32>
      scf.yield %next : f32
    }
  } {bp.independent}
  return
}

// -----

// Of several stages one work-group does all, with barriers in between. Loops
// with an order stay within a line, wherever they stood, and are one; small
// temporaries, too, are memory that invocations share.
// CHECK: coherent = true, {{.*}}grid = ["1", "1", "1"], name = "stages", workgroup = [128, 1, 1], workspace = "256"
// CHECK-LABEL: func.func @stages(
// CHECK-NOT: memref.alloca
// CHECK: gpu.barrier
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: %[[COUNT:.*]] = arith.muli %{{.*}}, %{{.*}} : index
// CHECK: scf.for
// CHECK:   gpu.barrier
// CHECK:   scf.for
// CHECK:     scf.for
// CHECK:       scf.if
// CHECK:           arith.remui
// CHECK:           arith.divui
// CHECK:   } {bp.in_turn}
// CHECK: gpu.barrier
func.func @stages(%x: memref<8x8xf32>, %from: memref<?x8x?xf32> {bp.dims = ["m", "8", "n"]}, %out: memref<8x8xf32>, %m: index, %n: index)
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64, bp.symbols = ["m", "n"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %t = memref.alloc() : memref<8x8xf32>
  linalg.copy ins(%x : memref<8x8xf32>) outs(%t : memref<8x8xf32>)
  scf.for %i = %c0 to %m step %c1 {
    scf.for %k = %c0 to %c8 step %c1 {
      scf.for %j = %c0 to %n step %c1 {
        %v = memref.load %from[%i, %k, %j] : memref<?x8x?xf32>
        memref.store %v, %t[%c0, %k] : memref<8x8xf32>
      }
    } {bp.independent}
  }
  linalg.transpose ins(%t : memref<8x8xf32>) outs(%out : memref<8x8xf32>) permutation = [1, 0]
  return
}

// -----

// Elements that may have too many turns for an invocation have members where
// they do, and enough work-groups for that; else each has one invocation.
// CHECK: coherent = false, {{.*}}grid = ["min(32768, (max(0, max(16*min(64, a), a)) + 127) floordiv 128)"
// CHECK-LABEL: func.func @elements(
// CHECK: %[[SHORT:.*]] = arith.cmpf ole
// CHECK: scf.if %[[SHORT]] {
// CHECK-NOT: gpu.barrier
// CHECK: } else {
// CHECK:   scf.for
// CHECK:     gpu.barrier
// CHECK:     scf.for
// CHECK:       scf.if
// CHECK:         scf.for
// CHECK:     {bp.in_turn}
// CHECK:     scf.if
// CHECK-NEXT:  memref.store
func.func @elements(%x: memref<?x?xi32> {bp.dims = ["a", "b"]}, %out: memref<?xi32> {bp.dims = ["a"]}, %a: index, %b: index)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64, bp.symbols = ["a", "b"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  scf.forall (%i) in (%a) {
    %size = memref.dim %x, %c1 : memref<?x?xi32>
    %all = scf.for %j = %c0 to %size step %c1 iter_args(%sum = %zero) -> (i32) {
      %v = memref.load %x[%i, %j] : memref<?x?xi32>
      %next = arith.addi %sum, %v : i32
      scf.yield %next : i32
    }
    memref.store %all, %out[%i] : memref<?xi32>
  }
  return
}

// -----

// A single element, which no loop is left around, is a line.
// CHECK: grid = ["1", "1", "1"], name = "single", workgroup = [128, 1, 1]
// CHECK-LABEL: func.func @single(
// CHECK: gpu.barrier
// CHECK: } {bp.in_turn}
// CHECK: scf.if
// CHECK-NEXT: memref.store
func.func @single(%x: memref<2000000xi32>, %out: memref<1xi32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %size = arith.constant 2000000 : index
  %zero = arith.constant 0 : i32
  %all = scf.for %j = %c0 to %size step %c1 iter_args(%sum = %zero) -> (i32) {
    %v = memref.load %x[%j] : memref<2000000xi32>
    %next = arith.addi %sum, %v : i32
    scf.yield %next : i32
  }
  memref.store %all, %out[%c0] : memref<1xi32>
  return
}
