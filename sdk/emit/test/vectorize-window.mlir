// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s "-bp-vectorize=vector-bits=512 permute=llvm.x86.avx512.permvar.si.512" -split-input-file | FileCheck %s

#index = affine_map<(d0, d1) -> (d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// The same columns of all rows are picked: their positions once for 64 rows.
// Where they lie within a vector, that is loaded from the first of them on, no
// further than the row, and permuted; else they are gathered.
// CHECK-LABEL: func.func @columns
// CHECK: scf.for {{.*}} to %c100 step %c64
// CHECK: vector.load %arg1
// CHECK: %[[LOW:.*]] = vector.reduction <minsi>
// CHECK: %[[HIGH:.*]] = vector.reduction <maxsi>
// CHECK: arith.cmpi ult, {{.*}}, %c16{{.*}} : index
// CHECK: scf.if
// CHECK: scf.for
// CHECK: %[[SIZE:.*]] = arith.subi {{.*}}
// CHECK: %[[MASK:.*]] = vector.create_mask %[[SIZE]]
// CHECK: vector.maskedload %arg0[{{.*}}], %[[MASK]]
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.permvar.si.512"
// CHECK: vector.store {{.*}} : memref<100x?xf32>, vector<16xf32>
// CHECK: } else {
// CHECK: scf.for
// CHECK: vector.gather
// CHECK-NOT: linalg.generic
func.func @columns(%t: memref<100x1000xf32>, %i: memref<?xi64>,
                   %o: memref<100x?xf32>) {
  linalg.generic {indexing_maps = [#index, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%i : memref<?xi64>) outs(%o : memref<100x?xf32>) {
  ^bb0(%x: i64, %old: f32):
    %row = linalg.index 0 : index
    %column = arith.index_cast %x : i64 to index
    %y = memref.load %t[%row, %column] : memref<100x1000xf32>
    linalg.yield %y : f32
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// Each row has positions of its own.
// CHECK-LABEL: func.func @elements
// CHECK-NOT: permvar
// CHECK: vector.gather
func.func @elements(%t: memref<100x1000xf32>, %i: memref<100x64xi64>,
                    %o: memref<100x64xf32>) {
  linalg.generic {indexing_maps = [#id, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%i : memref<100x64xi64>) outs(%o : memref<100x64xf32>) {
  ^bb0(%x: i64, %old: f32):
    %row = linalg.index 0 : index
    %column = arith.index_cast %x : i64 to index
    %y = memref.load %t[%row, %column] : memref<100x1000xf32>
    linalg.yield %y : f32
  }
  return
}

// -----

#index = affine_map<(d0, d1) -> (d1)>
#id = affine_map<(d0, d1) -> (d0, d1)>

// No permutation of elements of 64 bits.
// CHECK-LABEL: func.func @wide
// CHECK-NOT: permvar
// CHECK: vector.gather
func.func @wide(%t: memref<100x1000xf64>, %i: memref<64xi64>,
                %o: memref<100x64xf64>) {
  linalg.generic {indexing_maps = [#index, #id],
                  iterator_types = ["parallel", "parallel"]}
      ins(%i : memref<64xi64>) outs(%o : memref<100x64xf64>) {
  ^bb0(%x: i64, %old: f64):
    %row = linalg.index 0 : index
    %column = arith.index_cast %x : i64 to index
    %y = memref.load %t[%row, %column] : memref<100x1000xf64>
    linalg.yield %y : f64
  }
  return
}
