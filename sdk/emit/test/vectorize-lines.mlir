// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-vectorize=vector-bits=512 -canonicalize -split-input-file | FileCheck %s
// RUN: bp-opt %s -bp-vectorize="vector-bits=128 scalable=true" -canonicalize -split-input-file | FileCheck %s --check-prefix=SCALABLE

// Lines side by side: four vectors share a sequential loop, the rest is masked.
// Each line adds in the order in which it did.
// CHECK-LABEL: func.func @outer
// CHECK: scf.for {{.*}} step %c64
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: vector.load %arg0[%[[I]], %{{.*}}] : memref<?x?xbf16>, vector<16xbf16>
// CHECK: arith.extf %{{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK: %[[S:.*]] = arith.addf %[[A]], %{{.*}} : vector<16xf32>
// CHECK-COUNT-4: vector.store %{{.*}}, %arg1[%[[I]], %{{.*}}] : memref<?x?xbf16>, vector<16xbf16>
// CHECK: scf.yield %[[S]],
// CHECK: scf.for {{.*}} step %c16
// CHECK: vector.create_mask
// CHECK: scf.for
// CHECK: vector.maskedload %arg0
// CHECK: vector.maskedstore %arg1
// SCALABLE-LABEL: func.func @outer
// SCALABLE: vector.vscale
// SCALABLE: scf.for
// SCALABLE: vector.load {{.*}} vector<[4]xbf16>
// SCALABLE: arith.addf {{.*}} : vector<[4]xf32>
// SCALABLE: vector.maskedstore {{.*}} vector<[4]xbf16>
func.func @outer(%x: memref<?x?xbf16>, %o: memref<?x?xbf16>, %rows: index, %columns: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %line = %c0 to %columns step %c1 {
    %all = scf.for %i = %c0 to %rows step %c1 iter_args(%sum = %zero) -> (f32) {
      %e = memref.load %x[%i, %line] : memref<?x?xbf16>
      %w = arith.extf %e : bf16 to f32
      %next = arith.addf %sum, %w : f32
      %r = arith.truncf %next : f32 to bf16
      memref.store %r, %o[%i, %line] : memref<?x?xbf16>
      scf.yield %next : f32
    }
  } {bp.independent}
  return
}

// -----

// The elements of a line lie in a row: another line is far away.
// CHECK-LABEL: func.func @inner
// CHECK-NOT: vector
// CHECK: memref.store
func.func @inner(%x: memref<8x64xf32>, %o: memref<8x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.for %line = %c0 to %c8 step %c1 {
    %all = scf.for %i = %c0 to %c64 step %c1 iter_args(%sum = %zero) -> (f32) {
      %e = memref.load %x[%line, %i] : memref<8x64xf32>
      %next = arith.addf %sum, %e : f32
      memref.store %next, %o[%line, %i] : memref<8x64xf32>
      scf.yield %next : f32
    }
  } {bp.independent}
  return
}

// -----

// Where a line writes is not known, and a loop without the mark keeps its
// order.
// CHECK-LABEL: func.func @scattered
// CHECK-NOT: vector
// CHECK: memref.store
// CHECK-NOT: vector
// CHECK: memref.store
func.func @scattered(%x: memref<64xi64>, %o: memref<64x64xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %line = %c0 to %c64 step %c1 {
    %e = memref.load %x[%line] : memref<64xi64>
    %at = arith.index_cast %e : i64 to index
    memref.store %e, %o[%at, %line] : memref<64x64xi64>
  } {bp.independent}
  scf.for %i = %c0 to %c64 step %c1 {
    %e = memref.load %x[%i] : memref<64xi64>
    memref.store %e, %o[%c0, %i] : memref<64x64xi64>
  }
  return
}

// -----

// A part of the lines, from any first one. Iterations are short: twelve vectors
// at a time, then four.
// CHECK-LABEL: func.func @part
// CHECK: %[[SIZE:.*]] = arith.subi %arg3, %arg2
// CHECK: %[[TWELVES:.*]] = arith.addi %arg2, %{{.*}}
// CHECK: scf.for %{{.*}} = %arg2 to %[[TWELVES]] step %c192
// CHECK: %[[FOURS:.*]] = arith.addi %[[TWELVES]], %{{.*}}
// CHECK: scf.for %{{.*}} = %[[TWELVES]] to %[[FOURS]] step %c64
// CHECK: scf.for %{{.*}} = %[[FOURS]] to %arg3 step %c16
func.func @part(%x: memref<8x?xf32>, %o: memref<8x?xf32>, %first: index, %end: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  scf.for %line = %first to %end step %c1 {
    %all = scf.for %i = %c0 to %c8 step %c1 iter_args(%sum = %zero) -> (f32) {
      %e = memref.load %x[%i, %line] : memref<8x?xf32>
      %next = arith.addf %sum, %e : f32
      memref.store %next, %o[%i, %line] : memref<8x?xf32>
      scf.yield %next : f32
    }
  } {bp.independent}
  return
}

// -----

// Where all lanes take one branch and store in one row; a report is made once.
// CHECK-LABEL: func.func @branch
// CHECK: scf.for %[[ROW:.*]] =
// CHECK:   scf.for %[[AT:.*]] = {{.*}} step %c64
// CHECK:     %[[BAD:.*]] = arith.cmpi uge
// CHECK:     scf.if %[[BAD]] {
// CHECK-NEXT:  memref.store %{{.*}}, %arg3[%c0] : memref<1xi32>
// CHECK-NEXT: } else {
// CHECK:       vector.load %arg1[%[[ROW]], %[[AT]]]
// CHECK-COUNT-4: vector.store %{{.*}}, %arg2[%{{.*}}, %{{.*}}] : memref<64x228xf32>, vector<16xf32>
// CHECK:     }
// CHECK:   scf.for {{.*}} step %c16
// CHECK:     scf.if
// CHECK:       vector.maskedstore %arg2
func.func @branch(%i: memref<8xi64>, %x: memref<8x228xf32>, %o: memref<64x228xf32>, %error: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c228 = arith.constant 228 : index
  %limit = arith.constant 64 : i64
  %code = arith.constant 7 : i32
  scf.for %row = %c0 to %c8 step %c1 {
    scf.for %line = %c0 to %c228 step %c1 {
      %e = memref.load %i[%row] : memref<8xi64>
      %bad = arith.cmpi uge, %e, %limit : i64
      scf.if %bad {
        memref.store %code, %error[%c0] : memref<1xi32>
      } else {
        %at = arith.index_cast %e : i64 to index
        %value = memref.load %x[%row, %line] : memref<8x228xf32>
        memref.store %value, %o[%at, %line] : memref<64x228xf32>
      }
    } {bp.independent}
  }
  return
}

// -----

// Each line takes a branch of its own.
// CHECK-LABEL: func.func @branches
// CHECK-NOT: vector
// CHECK: return
func.func @branches(%x: memref<100xf32>, %o: memref<100xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  scf.for %line = %c0 to %c100 step %c1 {
    %e = memref.load %x[%line] : memref<100xf32>
    %bad = arith.cmpf ugt, %e, %zero : f32
    scf.if %bad {
      memref.store %e, %o[%line] : memref<100xf32>
    }
  } {bp.independent}
  return
}
