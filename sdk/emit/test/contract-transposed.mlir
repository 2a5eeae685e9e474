// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-contract=vector-bits=512 -split-input-file | FileCheck %s
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=256 registers=16" -split-input-file | FileCheck %s --check-prefix=AVX

// Pixels are few and the weight lies in blocks of 16 outputs: these are lanes,
// seven pixels of a row the rows. The weight is read where it is, elements of
// the image in the copies of its rows. Squares of the sums are transposed, of
// which the last one has one pixel.
// CHECK-LABEL: func.func @few
// CHECK: %[[W:.*]] = memref.collapse_shape %arg1
// CHECK: %[[ROWS:.*]] = memref.alloc()
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-2: vector.load %[[W]]
// CHECK: memref.load %[[ROWS]]
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK: vector.shuffle
// CHECK-COUNT-16: vector.store
// CHECK: vector.create_mask
// CHECK-COUNT-16: vector.maskedstore
// CHECK-NOT: vector.gather
// CHECK-NOT: linalg
// AVX-LABEL: func.func @few
// AVX: math.fma {{.*}} : vector<8xf32>
// AVX: vector.shuffle
// AVX-COUNT-8: vector.store
// AVX-COUNT-8: vector.maskedstore
// AVX-NOT: linalg
func.func @few(%x: tensor<1x4x9x9xf32>, %w: tensor<2x4x3x3x16xf32>,
               %c: tensor<1x2x16x7x7xf32>) -> tensor<1x2x16x7x7xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<1x2x16x7x7xf32>)
      -> tensor<1x2x16x7x7xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(n, b, o, y, x, c, ky, kx) -> (b, c, ky, kx, o)>,
                       affine_map<(n, b, o, y, x, c, ky, kx) -> (n, c, y + ky, x + kx)>,
                       affine_map<(n, b, o, y, x, c, ky, kx) -> (n, b, o, y, x)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
                        "parallel", "reduction", "reduction", "reduction"]}
      ins(%w, %x : tensor<2x4x3x3x16xf32>, tensor<1x4x9x9xf32>)
      outs(%start : tensor<1x2x16x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x2x16x7x7xf32>
  return %r : tensor<1x2x16x7x7xf32>
}

// -----

// A window of one element: the image is read where it is, and pixels of later
// channels are asked for.
// CHECK-LABEL: func.func @pointwise
// CHECK-DAG: %[[X:.*]] = memref.collapse_shape %arg0
// CHECK-DAG: %[[W:.*]] = memref.collapse_shape %arg1
// CHECK: scf.for {{.*}} iter_args
// CHECK: memref.prefetch %[[X]]
// CHECK: vector.load %[[W]]
// CHECK: memref.load %[[X]]
// CHECK: vector.shuffle
// CHECK-NOT: linalg
func.func @pointwise(%x: tensor<1x40x5x5xf32>, %w: tensor<2x40x1x1x16xf32>,
                     %c: tensor<1x2x16x5x5xf32>) -> tensor<1x2x16x5x5xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<1x2x16x5x5xf32>)
      -> tensor<1x2x16x5x5xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(n, b, o, y, x, c, ky, kx) -> (b, c, ky, kx, o)>,
                       affine_map<(n, b, o, y, x, c, ky, kx) -> (n, c, y + ky, x + kx)>,
                       affine_map<(n, b, o, y, x, c, ky, kx) -> (n, b, o, y, x)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
                        "parallel", "reduction", "reduction", "reduction"]}
      ins(%w, %x : tensor<2x40x1x1x16xf32>, tensor<1x40x5x5xf32>)
      outs(%start : tensor<1x2x16x5x5xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x2x16x5x5xf32>
  return %r : tensor<1x2x16x5x5xf32>
}

// -----

// A dilated window in wide padding: tiles of six pixels leave out elements of
// the window's rows that are padding for all of them, if they lie in one line
// of 33.
// AVX-LABEL: func.func @dilated
// AVX: %[[LOW:.*]] = arith.remui %{{.*}}, %c33
// AVX: %[[HIGH:.*]] = arith.remui %{{.*}}, %c33
// AVX: %[[ONE:.*]] = arith.cmpi sle, %[[LOW]], %[[HIGH]]
// AVX: arith.select %[[ONE]], %{{.*}}, %c0
// AVX: arith.select %[[ONE]], %{{.*}}, %c3
// AVX: math.fma {{.*}} : vector<8xf32>
// AVX-NOT: linalg
func.func @dilated(%x: tensor<1x8x33x33xf32>, %w: tensor<2x8x3x3x16xf32>,
                   %c: tensor<1x2x16x33x33xf32>) -> tensor<1x2x16x33x33xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<1x2x16x33x33xf32>)
      -> tensor<1x2x16x33x33xf32>
  %padded = tensor.pad %x low[0, 0, 12, 12] high[0, 0, 12, 12] {
  ^bb0(%n: index, %k: index, %i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<1x8x33x33xf32> to tensor<1x8x57x57xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(n, b, o, y, x, c, ky, kx) -> (b, c, ky, kx, o)>,
                       affine_map<(n, b, o, y, x, c, ky, kx) -> (n, c, y + ky * 12, x + kx * 12)>,
                       affine_map<(n, b, o, y, x, c, ky, kx) -> (n, b, o, y, x)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
                        "parallel", "reduction", "reduction", "reduction"]}
      ins(%w, %padded : tensor<2x8x3x3x16xf32>, tensor<1x8x57x57xf32>)
      outs(%start : tensor<1x2x16x33x33xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x2x16x33x33xf32>
  return %r : tensor<1x2x16x33x33xf32>
}

// -----

// Three groups would keep one of two threads waiting: there are six.
// CHECK-LABEL: func.func @even
// CHECK: scf.forall ({{.*}}) = (0) to (576) step (96)
func.func @even(%x: tensor<1x96x14x14xf32>, %w: tensor<36x96x1x1x16xf32>,
                %c: tensor<1x36x16x14x14xf32>) -> tensor<1x36x16x14x14xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<1x36x16x14x14xf32>)
      -> tensor<1x36x16x14x14xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(n, b, o, y, x, c, ky, kx) -> (b, c, ky, kx, o)>,
                       affine_map<(n, b, o, y, x, c, ky, kx) -> (n, c, y + ky, x + kx)>,
                       affine_map<(n, b, o, y, x, c, ky, kx) -> (n, b, o, y, x)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
                        "parallel", "reduction", "reduction", "reduction"]}
      ins(%w, %x : tensor<36x96x1x1x16xf32>, tensor<1x96x14x14xf32>)
      outs(%start : tensor<1x36x16x14x14xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x36x16x14x14xf32>
  return %r : tensor<1x36x16x14x14xf32>
}
