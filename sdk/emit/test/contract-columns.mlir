// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=256 registers=16" | FileCheck %s

// Few columns read A where it is: nothing but B and the tile of sums is copied.
// CHECK-LABEL: func.func @in_place
// CHECK: memref.alloc() {{.*}} : memref<1024xf32>
// CHECK-NOT: memref<3584xf32>
// CHECK: memref.load %{{.*}} : memref<57316xf32>
func.func @in_place(%a: tensor<28x2047xf32>, %b: tensor<2047x8xf32>,
                    %c: tensor<28x8xf32>) -> tensor<28x8xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<28x8xf32>)
      -> tensor<28x8xf32>
  %r = linalg.matmul ins(%a, %b : tensor<28x2047xf32>, tensor<2047x8xf32>)
      outs(%start : tensor<28x8xf32>) -> tensor<28x8xf32>
  return %r : tensor<28x8xf32>
}

// Fourteen rows that lie 8192 bytes apart do not fit a set of the nearest cache: A
// is copied.
// CHECK-LABEL: func.func @collide
// CHECK: %[[A:.*]] = memref.alloc() {{.*}} : memref<3584xf32>
// CHECK: memref.load %[[A]]
// CHECK-NOT: memref.load %{{.*}} : memref<57344xf32>
func.func @collide(%a: tensor<28x2048xf32>, %b: tensor<2048x8xf32>,
                   %c: tensor<28x8xf32>) -> tensor<28x8xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<28x8xf32>)
      -> tensor<28x8xf32>
  %r = linalg.matmul ins(%a, %b : tensor<28x2048xf32>, tensor<2048x8xf32>)
      outs(%start : tensor<28x8xf32>) -> tensor<28x8xf32>
  return %r : tensor<28x8xf32>
}
