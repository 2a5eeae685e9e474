// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-contract="vector-bits=128 scalable=true registers=32" -bp-vectorize="vector-bits=128 scalable=true" -split-input-file | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// The step is a multiple of vscale; the rest runs under a mask.
// CHECK-LABEL: func.func @elementwise
// CHECK: %[[SCALE:.*]] = vector.vscale
// CHECK: arith.muli %[[SCALE]]
// CHECK: vector.load {{.*}} vector<[4]xf32>
// CHECK: arith.negf {{.*}} : vector<[4]xf32>
// CHECK: vector.create_mask {{.*}} : vector<[4]xi1>
// CHECK: vector.maskedstore
func.func @elementwise(%a: memref<?xf32>, %o: memref<?xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%a : memref<?xf32>) outs(%o : memref<?xf32>) {
  ^bb0(%x: f32, %old: f32):
    %y = arith.negf %x : f32
    linalg.yield %y : f32
  }
  return
}

// -----

#in = affine_map<(d0) -> (d0)>
#one = affine_map<(d0) -> ()>

// Horizontal products have no scalable instruction: 128 bits.
// CHECK-LABEL: func.func @product
// CHECK-NOT: vector.vscale
// CHECK: vector.reduction <mul>, {{.*}} : vector<4xf32>
func.func @product(%a: memref<256xf32>, %o: memref<f32>) {
  linalg.generic {indexing_maps = [#in, #one],
                  iterator_types = ["reduction"]}
      ins(%a : memref<256xf32>) outs(%o : memref<f32>) {
  ^bb0(%x: f32, %old: f32):
    %y = arith.mulf %x, %old : f32
    linalg.yield %y : f32
  }
  return
}

// -----

// Panels are as long as vectors of the machine.
// CHECK-LABEL: func.func @matmul
// CHECK: vector.vscale
// CHECK: math.fma {{.*}} : vector<[4]xf32>
// CHECK-NOT: vector<4xf32>
func.func @matmul(%a: tensor<64x96xf32>, %b: tensor<96x80xf32>,
                  %c: tensor<64x80xf32>) -> tensor<64x80xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<64x80xf32>)
      -> tensor<64x80xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x96xf32>, tensor<96x80xf32>)
      outs(%start : tensor<64x80xf32>) -> tensor<64x80xf32>
  return %r : tensor<64x80xf32>
}
