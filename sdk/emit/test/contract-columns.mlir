// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=256 registers=16" | FileCheck %s
// RUN: bp-opt %s -bp-bind-buffers -bp-contract=vector-bits=512 | FileCheck %s --check-prefix=FETCH

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

// Fourteen rows that lie 8192 bytes apart do not fit a set of the nearest cache:
// tiles are lower, and A is read where it is.
// CHECK-LABEL: func.func @collide
// CHECK: memref.alloc() {{.*}} : memref<1024xf32>
// CHECK: scf.for %{{.*}} = %c8 to %c28 step %c8
// CHECK: memref.load %{{.*}} : memref<57344xf32>
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

// The first of few tiles copies what it multiplies of B, whose last columns are
// copied before.
// CHECK-LABEL: func.func @packs_in_tile
// CHECK: %[[B:.*]] = memref.collapse_shape %arg1
// CHECK: %[[BEGIN:.*]] = arith.select %[[FULL:.*]], %c4, %c0
// CHECK: scf.if %[[FULL]]
// CHECK: scf.for {{.*}} iter_args
// CHECK: vector.load %[[B]]
// CHECK: vector.store
// CHECK: math.fma
// CHECK: vector.maskedload %[[B]]
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %c32 step %c4
func.func @packs_in_tile(%a: tensor<32x100xf32>, %b: tensor<100x300xf32>,
                         %c: tensor<32x300xf32>) -> tensor<32x300xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<32x300xf32>)
      -> tensor<32x300xf32>
  %r = linalg.matmul ins(%a, %b : tensor<32x100xf32>, tensor<100x300xf32>)
      outs(%start : tensor<32x300xf32>) -> tensor<32x300xf32>
  return %r : tensor<32x300xf32>
}

// A million products are work for two threads, half as many are not.
// CHECK-LABEL: func.func @two_groups
// CHECK: scf.forall (%{{.*}}) = (0) to (256) step (132)
func.func @two_groups(%a: tensor<256x300xf32>, %b: tensor<300x16xf32>,
                      %c: tensor<256x16xf32>) -> tensor<256x16xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<256x16xf32>)
      -> tensor<256x16xf32>
  %r = linalg.matmul ins(%a, %b : tensor<256x300xf32>, tensor<300x16xf32>)
      outs(%start : tensor<256x16xf32>) -> tensor<256x16xf32>
  return %r : tensor<256x16xf32>
}

// CHECK-LABEL: func.func @one_group
// CHECK-NOT: scf.forall
// CHECK: return
func.func @one_group(%a: tensor<128x300xf32>, %b: tensor<300x16xf32>,
                     %c: tensor<128x16xf32>) -> tensor<128x16xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<128x16xf32>)
      -> tensor<128x16xf32>
  %r = linalg.matmul ins(%a, %b : tensor<128x300xf32>, tensor<300x16xf32>)
      outs(%start : tensor<128x16xf32>) -> tensor<128x16xf32>
  return %r : tensor<128x16xf32>
}

// One row reads B once, which takes longer than to multiply it.
// CHECK-LABEL: func.func @one_row
// CHECK: scf.forall (%{{.*}}) = (0) to (256) step (128)
func.func @one_row(%a: tensor<1x1152xf32>, %b: tensor<1152x256xf32>,
                   %c: tensor<1x256xf32>) -> tensor<1x256xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<1x256xf32>)
      -> tensor<1x256xf32>
  %r = linalg.matmul ins(%a, %b : tensor<1x1152xf32>, tensor<1152x256xf32>)
      outs(%start : tensor<1x256xf32>) -> tensor<1x256xf32>
  return %r : tensor<1x256xf32>
}

// Rows of A that come from memory are asked for while those before them are
// multiplied; those that a cache can hold are not.
// FETCH-LABEL: func.func @large
// FETCH: memref.prefetch {{.*}} read, locality<3>
// FETCH-LABEL: func.func @small
// FETCH-NOT: memref.prefetch
func.func @large(%a: tensor<4096x2048xf32>, %b: tensor<2048x16xf32>,
                 %c: tensor<4096x16xf32>) -> tensor<4096x16xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<4096x16xf32>)
      -> tensor<4096x16xf32>
  %r = linalg.matmul ins(%a, %b : tensor<4096x2048xf32>, tensor<2048x16xf32>)
      outs(%start : tensor<4096x16xf32>) -> tensor<4096x16xf32>
  return %r : tensor<4096x16xf32>
}

func.func @small(%a: tensor<256x2048xf32>, %b: tensor<2048x16xf32>,
                 %c: tensor<256x16xf32>) -> tensor<256x16xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<256x16xf32>)
      -> tensor<256x16xf32>
  %r = linalg.matmul ins(%a, %b : tensor<256x2048xf32>, tensor<2048x16xf32>)
      outs(%start : tensor<256x16xf32>) -> tensor<256x16xf32>
  return %r : tensor<256x16xf32>
}
