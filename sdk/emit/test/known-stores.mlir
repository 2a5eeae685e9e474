// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-to-llvm | FileCheck %s

// Of a vector of 256 bits the lanes that a mask leaves are stored in whole
// vectors, where their number is known.
// CHECK-LABEL: llvm.func @seven
// CHECK-NOT: llvm.intr.masked.store
// CHECK: llvm.store {{.*}} : vector<4xf32>
// CHECK: llvm.store {{.*}} : vector<2xf32>
// CHECK: llvm.store {{.*}} : vector<1xf32>
// CHECK-NOT: llvm.store
// CHECK: llvm.return
func.func @seven(%to: memref<8xf32>, %value: vector<8xf32>) {
  %zero = arith.constant 0 : index
  %lanes = arith.constant 7 : index
  %mask = vector.create_mask %lanes : vector<8xi1>
  vector.maskedstore %to[%zero], %mask, %value : memref<8xf32>, vector<8xi1>, vector<8xf32>
  return
}

// CHECK-LABEL: llvm.func @unknown
// CHECK: llvm.intr.masked.store
func.func @unknown(%to: memref<8xf32>, %value: vector<8xf32>, %lanes: index) {
  %zero = arith.constant 0 : index
  %mask = vector.create_mask %lanes : vector<8xi1>
  vector.maskedstore %to[%zero], %mask, %value : memref<8xf32>, vector<8xi1>, vector<8xf32>
  return
}

// Processors with vectors of 512 bits store under masks as fast.
// CHECK-LABEL: llvm.func @wide
// CHECK: llvm.intr.masked.store
func.func @wide(%to: memref<16xf32>, %value: vector<16xf32>) {
  %zero = arith.constant 0 : index
  %lanes = arith.constant 7 : index
  %mask = vector.create_mask %lanes : vector<16xi1>
  vector.maskedstore %to[%zero], %mask, %value : memref<16xf32>, vector<16xi1>, vector<16xf32>
  return
}

// One lane is a store of its own, whatever the vector.
// CHECK-LABEL: llvm.func @one
// CHECK-NOT: llvm.intr.masked.store
// CHECK: llvm.store {{.*}} : vector<1xi8>
// CHECK-NOT: llvm.store
// CHECK: llvm.return
func.func @one(%to: memref<9xi8>, %wide: vector<8xi64>) {
  %last = arith.constant 8 : index
  %lanes = arith.constant 1 : index
  %mask = vector.create_mask %lanes : vector<8xi1>
  %value = arith.trunci %wide : vector<8xi64> to vector<8xi8>
  vector.maskedstore %to[%last], %mask, %value : memref<9xi8>, vector<8xi1>, vector<8xi8>
  return
}
