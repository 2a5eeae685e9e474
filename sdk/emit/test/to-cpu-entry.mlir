// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-to-cpu-entry -split-input-file | FileCheck %s

// The grid and the workspace are expressions over the symbols.
// CHECK: bp.entry = {access = [1, 2], constants = 1 : i64, grid = ["(n + 63) floordiv 64", "1", "1"], name = "copy", workspace = "256"}
// CHECK: func.func @copy(%{{.*}}: !llvm.ptr, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32)
// CHECK-NOT: scf.forall
// CHECK-NOT: memref.alloc
func.func @copy(%in: memref<?xf32> {bp.dims = ["n"]},
                %out: memref<?xf32> {bp.dims = ["n"]}, %n: index)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64, bp.symbols = ["n"]} {
  scf.forall (%i) = (0) to (%n) step (64) {
    %size = affine.min affine_map<(d0)[s0] -> (64, s0 - d0)>(%i)[%n]
    %tmp = memref.alloc(%size) : memref<?xf32>
    %from = memref.subview %in[%i] [%size] [1]
        : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    %to = memref.subview %out[%i] [%size] [1]
        : memref<?xf32> to memref<?xf32, strided<[1], offset: ?>>
    linalg.copy ins(%from : memref<?xf32, strided<[1], offset: ?>>)
        outs(%tmp : memref<?xf32>)
    linalg.copy ins(%tmp : memref<?xf32>)
        outs(%to : memref<?xf32, strided<[1], offset: ?>>)
  }
  return
}

// -----

// Memory beside the loop is of each work-group, and does not keep it from being
// the grid.
// CHECK: bp.entry = {access = [1, 2], constants = 0 : i64, grid = ["8", "1", "1"], name = "beside", workspace = "4032"}
func.func @beside(%in: memref<1000xf32> {bp.dims = ["1000"]},
                  %out: memref<1000xf32> {bp.dims = ["1000"]})
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64, bp.symbols = []} {
  %tmp = memref.alloc() : memref<1000xf32>
  scf.forall (%i) = (0) to (1000) step (125) {
    %from = memref.subview %in[%i] [125] [1]
        : memref<1000xf32> to memref<125xf32, strided<[1], offset: ?>>
    %at = memref.subview %tmp[%i] [125] [1]
        : memref<1000xf32> to memref<125xf32, strided<[1], offset: ?>>
    %to = memref.subview %out[%i] [125] [1]
        : memref<1000xf32> to memref<125xf32, strided<[1], offset: ?>>
    linalg.copy ins(%from : memref<125xf32, strided<[1], offset: ?>>)
        outs(%at : memref<125xf32, strided<[1], offset: ?>>)
    linalg.copy ins(%at : memref<125xf32, strided<[1], offset: ?>>)
        outs(%to : memref<125xf32, strided<[1], offset: ?>>)
  }
  return
}
