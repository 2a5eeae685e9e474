// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-to-llvm | FileCheck %s

// A long body that is run often stays one body.
// CHECK: #[[KEPT:.*]] = #llvm.loop_annotation<unroll = #{{.*}}>
// CHECK-LABEL: llvm.func @long
// CHECK: llvm.br {{.*}} {loop_annotation = #[[KEPT]]}
func.func @long(%from: memref<512xf32>, %to: memref<512xf32>, %n: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c512 = arith.constant 512 : index
  scf.for %i = %c0 to %c512 step %c16 {
    %0 = memref.load %from[%i] : memref<512xf32>
    %1 = arith.addf %0, %n : f32
    %2 = arith.addf %1, %n : f32
    %3 = arith.addf %2, %n : f32
    %4 = arith.addf %3, %n : f32
    %5 = arith.addf %4, %n : f32
    %6 = arith.addf %5, %n : f32
    %7 = arith.addf %6, %n : f32
    %8 = arith.addf %7, %n : f32
    %9 = arith.addf %8, %n : f32
    %10 = arith.addf %9, %n : f32
    %11 = arith.addf %10, %n : f32
    %12 = arith.addf %11, %n : f32
    %13 = arith.addf %12, %n : f32
    %14 = arith.addf %13, %n : f32
    %15 = arith.addf %14, %n : f32
    %16 = arith.addf %15, %n : f32
    %17 = arith.addf %16, %n : f32
    %18 = arith.addf %17, %n : f32
    %19 = arith.addf %18, %n : f32
    %20 = arith.addf %19, %n : f32
    %21 = arith.addf %20, %n : f32
    %22 = arith.addf %21, %n : f32
    %23 = arith.addf %22, %n : f32
    %24 = arith.addf %23, %n : f32
    %25 = arith.addf %24, %n : f32
    %26 = arith.addf %25, %n : f32
    %27 = arith.addf %26, %n : f32
    %28 = arith.addf %27, %n : f32
    %29 = arith.addf %28, %n : f32
    %30 = arith.addf %29, %n : f32
    %31 = arith.addf %30, %n : f32
    %32 = arith.addf %31, %n : f32
    memref.store %32, %to[%i] : memref<512xf32>
  }
  return
}

// One that is run a few times, and a short one, are LLVM's choice.
// CHECK-LABEL: llvm.func @few
// CHECK-NOT: loop_annotation
func.func @few(%from: memref<512xf32>, %to: memref<512xf32>, %n: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c512 = arith.constant 512 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c16 {
    %0 = memref.load %from[%i] : memref<512xf32>
    %1 = arith.addf %0, %n : f32
    %2 = arith.addf %1, %n : f32
    %3 = arith.addf %2, %n : f32
    %4 = arith.addf %3, %n : f32
    %5 = arith.addf %4, %n : f32
    %6 = arith.addf %5, %n : f32
    %7 = arith.addf %6, %n : f32
    %8 = arith.addf %7, %n : f32
    %9 = arith.addf %8, %n : f32
    %10 = arith.addf %9, %n : f32
    %11 = arith.addf %10, %n : f32
    %12 = arith.addf %11, %n : f32
    %13 = arith.addf %12, %n : f32
    %14 = arith.addf %13, %n : f32
    %15 = arith.addf %14, %n : f32
    %16 = arith.addf %15, %n : f32
    %17 = arith.addf %16, %n : f32
    %18 = arith.addf %17, %n : f32
    %19 = arith.addf %18, %n : f32
    %20 = arith.addf %19, %n : f32
    %21 = arith.addf %20, %n : f32
    %22 = arith.addf %21, %n : f32
    %23 = arith.addf %22, %n : f32
    %24 = arith.addf %23, %n : f32
    %25 = arith.addf %24, %n : f32
    %26 = arith.addf %25, %n : f32
    %27 = arith.addf %26, %n : f32
    %28 = arith.addf %27, %n : f32
    %29 = arith.addf %28, %n : f32
    %30 = arith.addf %29, %n : f32
    %31 = arith.addf %30, %n : f32
    %32 = arith.addf %31, %n : f32
    memref.store %32, %to[%i] : memref<512xf32>
  }
  scf.for %i = %c0 to %c512 step %c1 {
    %0 = memref.load %from[%i] : memref<512xf32>
    memref.store %0, %to[%i] : memref<512xf32>
  }
  return
}

// Many sums of integers are one set of registers.
// CHECK-LABEL: llvm.func @sums
// CHECK: llvm.br {{.*}} {loop_annotation = #[[KEPT]]}
func.func @sums(%from: memref<3xi32>, %s: vector<8xi32>) -> vector<8xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r:8 = scf.for %i = %c0 to %c3 step %c1
      iter_args(%a = %s, %b = %s, %c = %s, %d = %s, %e = %s, %f = %s, %g = %s, %h = %s)
      -> (vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>) {
    %0 = memref.load %from[%i] : memref<3xi32>
    %1 = vector.broadcast %0 : i32 to vector<8xi32>
    %2 = arith.addi %a, %1 : vector<8xi32>
    scf.yield %2, %a, %b, %c, %d, %e, %f, %g : vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>, vector<8xi32>
  }
  return %r#7 : vector<8xi32>
}
