// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-to-gpu-entry -bp-to-spirv -split-input-file -verify-diagnostics | FileCheck %s

// Buffers keep the sizes of their elements; bf16 and f16 are bits.
// CHECK-LABEL: spirv.module Logical GLSL450 requires #spirv.vce<v1.3
// CHECK-DAG: @buffer0 bind(0, 0) {aliased} : !spirv.ptr<!spirv.struct<(!spirv.rtarray<i16, stride=2> [0])>, StorageBuffer>
// CHECK-DAG: @buffer1 bind(0, 1) {aliased} : !spirv.ptr<!spirv.struct<(!spirv.rtarray<i16, stride=2> [0])>, StorageBuffer>
// CHECK-DAG: @buffer2 bind(0, 2) {aliased} : !spirv.ptr<!spirv.struct<(!spirv.rtarray<f32, stride=4> [0])>, StorageBuffer>
// CHECK-DAG: @__push_constant_var__ : !spirv.ptr<!spirv.struct<(!spirv.array<1 x i32, stride=4> [0])>, PushConstant>
// CHECK: spirv.func @halves
// CHECK: spirv.FAdd {{.*}} {no_contraction}
// CHECK: spirv.EntryPoint "GLCompute" @halves
// CHECK: spirv.ExecutionMode @halves "LocalSize", 128, 1, 1
// CHECK: spirv.ExecutionMode @halves "SignedZeroInfNanPreserve", 32
func.func @halves(%x: memref<?xf16> {bp.dims = ["n"]},
                  %y: memref<?xbf16> {bp.dims = ["n"]},
                  %out: memref<?xf32> {bp.dims = ["n"]}, %n: index)
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64, bp.symbols = ["n"]} {
  scf.forall (%i) in (%n) {
    %a = memref.load %x[%i] : memref<?xf16>
    %b = memref.load %y[%i] : memref<?xbf16>
    %c = arith.extf %a : f16 to f32
    %d = arith.extf %b : bf16 to f32
    %e = arith.addf %c, %d : f32
    memref.store %e, %out[%i] : memref<?xf32>
  }
  return
}

// -----

// An index that is too large for 32 bits stays outside of every size.
// CHECK-LABEL: spirv.func @pick
// CHECK: %[[LOW:.*]] = spirv.GL.SMin %{{.*}}, %{{.*}} : i64
// CHECK: %[[BOTH:.*]] = spirv.GL.SMax %[[LOW]], %{{.*}} : i64
// CHECK: spirv.SConvert %[[BOTH]] : i64 to i32
func.func @pick(%x: memref<8xf32>, %at: memref<8xi64>, %out: memref<8xf32>)
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  scf.forall (%i) in (8) {
    %a = memref.load %at[%i] : memref<8xi64>
    %k = arith.index_cast %a : i64 to index
    %v = memref.load %x[%k] : memref<8xf32>
    memref.store %v, %out[%i] : memref<8xf32>
  }
  return
}

// -----

func.func @sum(%x: memref<8xf16>, %out: memref<8xf16>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  scf.forall (%i) in (8) {
    %a = memref.load %x[%i] : memref<8xf16>
    // expected-error @+1 {{computes in a 16-bit float, which the target only holds}}
    %b = arith.addf %a, %a : f16
    memref.store %b, %out[%i] : memref<8xf16>
  }
  return
}

// -----

// A loop without a turn gives what it started with.
// CHECK-LABEL: spirv.func @turns
// CHECK: %[[SUM:.*]] = spirv.Variable : !spirv.ptr<f32, Function>
// CHECK: spirv.Store "Function" %[[SUM]], %{{.*}} : f32
// CHECK: spirv.mlir.loop
// CHECK: spirv.Store "Function" %[[SUM]], %{{.*}} : f32
// CHECK: spirv.mlir.merge
func.func @turns(%x: memref<?xf32> {bp.dims = ["n"]}, %out: memref<4xf32>, %n: index)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64, bp.symbols = ["n"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  scf.forall (%i) in (4) {
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%s = %one) -> f32 {
      %v = memref.load %x[%k] : memref<?xf32>
      %t = arith.addf %s, %v : f32
      scf.yield %t : f32
    }
    memref.store %sum, %out[%i] : memref<4xf32>
  }
  return
}

// -----

// Comparisons with constants have the width that the numbers had; a constant
// that no such number reaches decides them.
// CHECK-LABEL: spirv.func @compare
// CHECK-DAG: %[[I:.*]] = spirv.Load "StorageBuffer" %{{.*}} : i32
// CHECK-DAG: spirv.SLessThanEqual %{{.*}}, %cst0_i32 : i32
// CHECK-DAG: spirv.SGreaterThan %[[I]], %{{.*}} : i32
// CHECK-NOT: i64
// CHECK: spirv.EntryPoint
func.func @compare(%x: memref<8xi32>, %out: memref<8xi32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : i64
  %least = arith.constant -2147483648 : i64
  %large = arith.constant 4294967296 : i64
  scf.forall (%i) in (8) {
    %a = memref.load %x[%i] : memref<8xi32>
    %b = arith.extsi %a : i32 to i64
    %j = arith.index_cast %i : index to i64
    %p = arith.cmpi sle, %j, %zero : i64
    %q = arith.cmpi sgt, %b, %least : i64
    %r = arith.cmpi slt, %b, %large : i64
    %s = arith.andi %p, %q : i1
    %t = arith.andi %s, %r : i1
    %u = arith.extui %t : i1 to i32
    memref.store %u, %out[%i] : memref<8xi32>
  }
  return
}

// -----

// Loops whose turns the sizes decide are counted before they begin, those
// inside of others with them; the device says how many it carries out.
// CHECK-LABEL: spirv.SpecConstant @__iterations__ spec_id(0) = 3.40282347E+38 : f32
// CHECK: spirv.GlobalVariable @__iteration_error__ bind(0, 2)
// CHECK: spirv.func @running
// CHECK: %[[MOST:.*]] = spirv.mlir.referenceof @__iterations__ : f32
// CHECK: %[[ALL:.*]] = spirv.FOrdGreaterThan %{{.*}}, %[[MOST]] : f32
// CHECK: spirv.BranchConditional %[[ALL]]
// CHECK: spirv.Store "StorageBuffer" %{{.*}}, %cst50331648_i32
// CHECK: spirv.mlir.loop
func.func @running(%x: memref<?xf32> {bp.dims = ["n"]}, %out: memref<?xf32> {bp.dims = ["n"]}, %n: index)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64, bp.symbols = ["n"]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      %a = memref.load %x[%j] : memref<?xf32>
      memref.store %a, %out[%i] : memref<?xf32>
    }
  }
  return
}

// -----

// Short loops are not counted.
// CHECK-LABEL: spirv.module
// CHECK-NOT: SpecConstant
// CHECK: spirv.func @short
// CHECK: spirv.mlir.loop
func.func @short(%x: memref<512xf32>, %out: memref<512xf32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 512 : index
  scf.for %i = %c0 to %n step %c1 {
    %a = memref.load %x[%i] : memref<512xf32>
    memref.store %a, %out[%i] : memref<512xf32>
  }
  return
}

// -----

// f64 is rounded by sums, as a device may leave large numbers as they are.
// CHECK-LABEL: spirv.func @rounded
// CHECK-NOT: RoundEven
// CHECK: %[[SIZE:.*]] = spirv.GL.FAbs %{{.*}} : f64
// CHECK: %[[MORE:.*]] = spirv.FAdd %[[SIZE]], %[[LIMIT:[a-z0-9_]+]] {{.*}}: f64
// CHECK: %[[ROUND:.*]] = spirv.FSub %[[MORE]], %[[LIMIT]] {{.*}}: f64
// CHECK: %[[BELOW:.*]] = spirv.FOrdLessThan %[[SIZE]], %[[LIMIT]] : f64
// CHECK: spirv.Select %[[BELOW]], %[[ROUND]], %[[SIZE]]
// CHECK-NOT: RoundEven
func.func @rounded(%x: memref<8xf64>, %out: memref<8xf64>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  scf.forall (%i) in (8) {
    %a = memref.load %x[%i] : memref<8xf64>
    %b = math.roundeven %a : f64
    memref.store %b, %out[%i] : memref<8xf64>
  }
  return
}
