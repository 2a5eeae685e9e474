// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-contract=vector-bits=512 -split-input-file | FileCheck %s

#weight = affine_map<(n, o, y, x, c, i, j) -> (o, c, i, j)>
#image = affine_map<(n, o, y, x, c, i, j) -> (n, c, y + i, x + j)>
#result = affine_map<(n, o, y, x, c, i, j) -> (n, o, y, x)>

// The rows of 14 channels are copied, three times for the columns of a window,
// and the kernel reads its pixels in any row. It leaves out the rows of windows
// in which all pixels of the panel meet the padding, as in the first row.
// CHECK-LABEL: func.func @image
// CHECK: scf.for {{.*}} = %c0 to %c3 step %c1
// CHECK: scf.if
// CHECK: vector.load
// CHECK: vector.maskedload
// CHECK: } else {
// CHECK: vector.store %cst
// CHECK: %[[LOW:.*]] = arith.maxsi
// CHECK: scf.for {{.*}} iter_args
// CHECK-NEXT: scf.for {{.*}} = %[[LOW]] to {{.*}} iter_args
// CHECK-COUNT-72: math.fma {{.*}} : vector<16xf32>
// CHECK-NOT: vector.gather
// CHECK-NOT: linalg
func.func @image(%x: tensor<1x28x20x20xf32>, %w: tensor<24x28x3x3xf32>,
                 %y: tensor<1x24x20x20xf32>) -> tensor<1x24x20x20xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x28x20x20xf32> to tensor<1x28x22x22xf32>
  %start = linalg.fill ins(%zero : f32) outs(%y : tensor<1x24x20x20xf32>)
      -> tensor<1x24x20x20xf32>
  %r = linalg.generic {indexing_maps = [#weight, #image, #result],
                       iterator_types = ["parallel", "parallel", "parallel",
                                         "parallel", "reduction", "reduction",
                                         "reduction"]}
      ins(%w, %p : tensor<24x28x3x3xf32>, tensor<1x28x22x22xf32>)
      outs(%start : tensor<1x24x20x20xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %q = arith.mulf %a, %b : f32
    %t = arith.addf %old, %q : f32
    linalg.yield %t : f32
  } -> tensor<1x24x20x20xf32>
  return %r : tensor<1x24x20x20xf32>
}

// -----

#weight = affine_map<(n, o, x, c, j) -> (o, c, j)>
#image = affine_map<(n, o, x, c, j) -> (n, c, x * 2 + j)>
#result = affine_map<(n, o, x, c, j) -> (n, o, x)>

// Every second pixel is taken out of two vectors.
// CHECK-LABEL: func.func @line
// CHECK: vector.shuffle {{.*}} [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]
// CHECK: math.fma
// CHECK-NOT: vector.gather
// CHECK-NOT: linalg
func.func @line(%w: tensor<16x8x3xf32>, %x: tensor<1x8x97xf32>,
                %y: tensor<1x16x48xf32>) -> tensor<1x16x48xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%y : tensor<1x16x48xf32>)
      -> tensor<1x16x48xf32>
  %r = linalg.generic {indexing_maps = [#weight, #image, #result],
                       iterator_types = ["parallel", "parallel", "parallel",
                                         "reduction", "reduction"]}
      ins(%w, %x : tensor<16x8x3xf32>, tensor<1x8x97xf32>)
      outs(%start : tensor<1x16x48xf32>) {
  ^bb0(%a: f32, %b: f32, %old: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %old, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x16x48xf32>
  return %r : tensor<1x16x48xf32>
}
