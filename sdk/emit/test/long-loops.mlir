// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-to-llvm=few-registers=true -split-input-file | FileCheck %s
// RUN: bp-opt %s -bp-to-llvm -split-input-file | FileCheck %s --check-prefix=MANY

// Two iterations of a polynomial side by side, then the odd one. Its constants,
// more than there are registers, are none to LLVM.
// CHECK-LABEL: llvm.func @polynomial
// CHECK: %[[C:.*]] = llvm.inline_asm "", "=x,0" %{{.*}} : (vector<8xf32>) -> vector<8xf32>
// CHECK-COUNT-8: llvm.inline_asm
// CHECK: llvm.cond_br
// CHECK: %[[A:.*]] = llvm.load {{.*}} : !llvm.ptr -> vector<8xf32>
// CHECK: %[[B:.*]] = llvm.load {{.*}} : !llvm.ptr -> vector<8xf32>
// CHECK: llvm.intr.fma(%[[C]], %[[A]]
// CHECK-NEXT: llvm.intr.fma(%[[C]], %[[B]]
// CHECK: llvm.store
// CHECK: llvm.store
// CHECK: llvm.cond_br
// CHECK-COUNT-1: llvm.load
// MANY-LABEL: llvm.func @polynomial
// MANY-NOT: llvm.inline_asm
// MANY-COUNT-1: llvm.load {{.*}} vector<8xf32>
// MANY-NOT: llvm.load {{.*}} vector<8xf32>
func.func @polynomial(%x: memref<?xf32>, %y: memref<?xf32>, %size: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %f0 = arith.constant dense<1.0> : vector<8xf32>
  %f1 = arith.constant dense<2.0> : vector<8xf32>
  %f2 = arith.constant dense<3.0> : vector<8xf32>
  %f3 = arith.constant dense<4.0> : vector<8xf32>
  %f4 = arith.constant dense<5.0> : vector<8xf32>
  %f5 = arith.constant dense<6.0> : vector<8xf32>
  %f6 = arith.constant dense<7.0> : vector<8xf32>
  %f7 = arith.constant dense<8.0> : vector<8xf32>
  %f8 = arith.constant dense<9.0> : vector<8xf32>
  scf.for %i = %c0 to %size step %c8 {
    %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
    %0 = math.fma %f0, %v, %f1 : vector<8xf32>
    %1 = math.fma %0, %v, %f2 : vector<8xf32>
    %2 = math.fma %1, %v, %f3 : vector<8xf32>
    %3 = math.fma %2, %v, %f4 : vector<8xf32>
    %4 = math.fma %3, %v, %f5 : vector<8xf32>
    %5 = math.fma %4, %v, %f6 : vector<8xf32>
    %6 = math.fma %5, %v, %f7 : vector<8xf32>
    %7 = math.fma %6, %v, %f8 : vector<8xf32>
    vector.store %7, %y[%i] : memref<?xf32>, vector<8xf32>
  } {bp.independent}
  return
}

// -----

// What is not known to be independent is done in order, and few constants stay
// constants.
// CHECK-LABEL: llvm.func @ordered
// MANY-LABEL: llvm.func @ordered
// CHECK-NOT: llvm.inline_asm
// CHECK-COUNT-1: llvm.load {{.*}} vector<8xf32>
// CHECK-NOT: llvm.load {{.*}} vector<8xf32>
func.func @ordered(%x: memref<?xf32>, %y: memref<?xf32>, %size: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %f0 = arith.constant dense<1.0> : vector<8xf32>
  scf.for %i = %c0 to %size step %c8 {
    %v = vector.load %x[%i] : memref<?xf32>, vector<8xf32>
    %0 = math.fma %f0, %v, %f0 : vector<8xf32>
    %1 = math.fma %0, %v, %f0 : vector<8xf32>
    %2 = math.fma %1, %v, %f0 : vector<8xf32>
    %3 = math.fma %2, %v, %f0 : vector<8xf32>
    %4 = math.fma %3, %v, %f0 : vector<8xf32>
    %5 = math.fma %4, %v, %f0 : vector<8xf32>
    %6 = math.fma %5, %v, %f0 : vector<8xf32>
    %7 = math.fma %6, %v, %f0 : vector<8xf32>
    vector.store %7, %y[%i] : memref<?xf32>, vector<8xf32>
  }
  return
}
