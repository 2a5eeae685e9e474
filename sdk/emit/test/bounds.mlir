// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-to-cpu-entry | FileCheck %s

// The size of a temporary is found through reshapes of other temporaries.
// CHECK: workspace = "128*((n + 15) floordiv 16)"
func.func @reshaped(%in: memref<?xf32> {bp.dims = ["n"]},
                    %out: memref<?xf32> {bp.dims = ["n"]}, %n: index)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64, bp.symbols = ["n"]} {
  %c0 = arith.constant 0 : index
  %a = memref.alloc(%n) : memref<?x1xf32>
  %flat = memref.collapse_shape %a [[0, 1]] : memref<?x1xf32> into memref<?xf32>
  %size = memref.dim %flat, %c0 : memref<?xf32>
  %b = memref.alloc(%size) : memref<?xf32>
  linalg.copy ins(%in : memref<?xf32>) outs(%flat : memref<?xf32>)
  linalg.copy ins(%flat : memref<?xf32>) outs(%b : memref<?xf32>)
  linalg.copy ins(%b : memref<?xf32>) outs(%out : memref<?xf32>)
  return
}
