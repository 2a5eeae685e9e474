// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-lower-to-linalg --split-input-file | FileCheck %s

// What follows a contraction is one op, and nothing moves into it.
// CHECK-LABEL: @linear
// CHECK: %[[A:.*]] = linalg.generic
// CHECK: math.tanh
// CHECK: %[[F:.*]] = linalg.fill
// CHECK: %[[M:.*]] = linalg.matmul ins(%[[A]], %arg1 : {{.*}}) outs(%[[F]]
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[M]], %arg2 : {{.*}}) outs(%arg3
// CHECK: arith.addf
// CHECK: arith.maximumf
func.func @linear(%x: tensor<?x8xf32, #bp.dims<["n", "8"]>>, %w: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<?x4xf32, #bp.dims<["n", "4"]>> attributes {bp.symbols = ["n"]} {
  %t = bp.tanh %x : (tensor<?x8xf32, #bp.dims<["n", "8"]>>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
  %0 = bp.matmul %t, %w : (tensor<?x8xf32, #bp.dims<["n", "8"]>>, tensor<8x4xf32>) -> tensor<?x4xf32, #bp.dims<["n", "4"]>>
  %1 = bp.broadcast %b {dims = #bp.dims<["n", "4"]>, axes = array<i64: 1>} : (tensor<4xf32>) -> tensor<?x4xf32, #bp.dims<["n", "4"]>>
  %2 = bp.add %0, %1 : (tensor<?x4xf32, #bp.dims<["n", "4"]>>, tensor<?x4xf32, #bp.dims<["n", "4"]>>) -> tensor<?x4xf32, #bp.dims<["n", "4"]>>
  %z = bp.constant {value = dense<0.0> : tensor<f32>, dtype = f32, dims = #bp.dims<["n", "4"]>} : () -> tensor<?x4xf32, #bp.dims<["n", "4"]>>
  %3 = bp.max %2, %z : (tensor<?x4xf32, #bp.dims<["n", "4"]>>, tensor<?x4xf32, #bp.dims<["n", "4"]>>) -> tensor<?x4xf32, #bp.dims<["n", "4"]>>
  return %3 : tensor<?x4xf32, #bp.dims<["n", "4"]>>
}

// -----

// CHECK: #[[B:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: @transposed
// CHECK: linalg.matmul indexing_maps = [#{{.*}}, #[[B]], #{{.*}}] ins(%arg0, %arg1
func.func @transposed(%a: tensor<4x8xf32>, %b: tensor<6x8xf32>) -> tensor<4x6xf32> {
  %0 = bp.matmul %a, %b {transpose_b = true} : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

// A transpose before the product is the same.
// CHECK: #[[B:.*]] = affine_map<(d0, d1, d2) -> (d1, d2)>
// CHECK-LABEL: @transpose_before
// CHECK: linalg.matmul indexing_maps = [#{{.*}}, #[[B]], #{{.*}}] ins(%arg0, %arg1
func.func @transpose_before(%a: tensor<4x8xf32>, %b: tensor<6x8xf32>) -> tensor<4x6xf32> {
  %t = bp.transpose %b {permutation = array<i64: 1, 0>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %0 = bp.matmul %a, %t : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

// CHECK-LABEL: @batch
// CHECK: linalg.batch_matmul
func.func @batch(%a: tensor<2x4x8xf32>, %b: tensor<2x8x6xf32>) -> tensor<2x4x6xf32> {
  %0 = bp.matmul %a, %b : (tensor<2x4x8xf32>, tensor<2x8x6xf32>) -> tensor<2x4x6xf32>
  return %0 : tensor<2x4x6xf32>
}

// -----

// f16 accumulates in f32 and rounds once.
// CHECK: #[[B:.*]] = affine_map<(d0, d1, d2, d3) -> (d3, d2)>
// CHECK-LABEL: @shared
// CHECK: %[[P:.*]] = linalg.generic {indexing_maps = [#{{.*}}, #[[B]], #{{.*}}], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
// CHECK: arith.mulf
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[P]] : tensor<2x4x6xf32>) outs(%arg2 : tensor<2x4x6xf16>)
// CHECK: arith.truncf
func.func @shared(%a: tensor<2x4x8xf16>, %b: tensor<8x6xf16>) -> tensor<2x4x6xf16> {
  %0 = bp.matmul %a, %b : (tensor<2x4x8xf16>, tensor<8x6xf16>) -> tensor<2x4x6xf16>
  return %0 : tensor<2x4x6xf16>
}

// -----

// The weight comes first; the image is padded.
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>
// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 * 2 + d5, d3 + d6 * 2)>
// CHECK-DAG: #[[Y:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>
// CHECK-LABEL: @conv
// CHECK: %[[P:.*]] = tensor.pad %arg0 low[0, 0, 1, 2] high[0, 0, 1, 2]
// CHECK: linalg.generic {indexing_maps = [#[[W]], #[[X]], #[[Y]]], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%arg1, %[[P]]
func.func @conv(%x: tensor<1x4x9x8xf32>, %w: tensor<6x4x3x3xf32>) -> tensor<1x6x5x8xf32> {
  %0 = bp.conv %x, %w {strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, low = array<i64: 1, 2>, high = array<i64: 1, 2>, groups = 1} : (tensor<1x4x9x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x5x8xf32>
  return %0 : tensor<1x6x5x8xf32>
}

// -----

// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d4, d5)>
// CHECK-DAG: #[[X:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2 + d4, d3 + d5)>
// CHECK-LABEL: @depthwise
// CHECK-NOT: tensor.pad
// CHECK: linalg.generic {indexing_maps = [#[[W]], #[[X]], #{{.*}}], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
func.func @depthwise(%x: tensor<1x4x9x8xf32>, %w: tensor<4x1x3x3xf32>) -> tensor<1x4x7x6xf32> {
  %0 = bp.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 4} : (tensor<1x4x9x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x7x6xf32>
  return %0 : tensor<1x4x7x6xf32>
}

// -----

// Groups are an axis of their own; the result is computed in place.
// CHECK-LABEL: @grouped
// The op behind it takes on its shape, and padding that of the groups.
// CHECK-DAG: %[[X:[a-z0-9_]+]] = tensor.expand_shape %arg0 {{.*}} output_shape [1, 2, 2, 9]
// CHECK-DAG: %[[P:[a-z0-9_]+]] = tensor.pad %[[X]] low[0, 0, 0, 1] high[0, 0, 0, 1]
// CHECK-DAG: %[[W:[a-z0-9_]+]] = tensor.expand_shape %arg1 {{.*}} output_shape [2, 3, 2, 3]
// CHECK: %[[C:[a-z0-9_]+]] = linalg.generic {{.*}} ins(%[[W]], %[[P]] :
// CHECK: %[[OUT:[a-z0-9_]+]] = tensor.expand_shape %arg2 {{.*}} output_shape [1, 2, 3, 9]
// CHECK: %[[R:[a-z0-9_]+]] = linalg.generic {{.*}} ins(%[[C]] : {{.*}}) outs(%[[OUT]]
// CHECK: math.exp
// CHECK: tensor.collapse_shape %[[R]]
// CHECK-NEXT: return
func.func @grouped(%x: tensor<1x4x9xf32>, %w: tensor<6x2x3xf32>) -> tensor<1x6x9xf32> {
  %0 = bp.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, groups = 2} : (tensor<1x4x9xf32>, tensor<6x2x3xf32>) -> tensor<1x6x9xf32>
  %1 = bp.exp %0 : (tensor<1x6x9xf32>) -> tensor<1x6x9xf32>
  return %1 : tensor<1x6x9xf32>
}

// -----

// The image is spread among zeros, the weight mirrored.
// CHECK-LABEL: @conv_transpose
// CHECK: %[[W:.*]] = linalg.generic
// CHECK: arith.subi %c2
// CHECK: tensor.extract %arg1
// CHECK: %[[X:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 1] [1, 2, 5] [1, 1, 2] : tensor<1x2x5xf32> into tensor<1x2x11xf32>
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[W]], %[[X]]
func.func @conv_transpose(%x: tensor<1x2x5xf32>, %w: tensor<2x3x3xf32>) -> tensor<1x3x9xf32> {
  %0 = bp.conv_transpose %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, output_padding = array<i64: 0>, groups = 1, finite_weight = true} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x9xf32>
  return %0 : tensor<1x3x9xf32>
}

// -----

// A window that the stride divides: results between two elements of the image
// are outputs of one convolution of the image as it is, brought into order.
// CHECK-DAG: #[[IN:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2 + d4)>
// CHECK-DAG: #[[ORDER:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3, d2)>
// CHECK-LABEL: @phases
// CHECK: %[[W:.*]] = linalg.generic
// CHECK: tensor.extract %arg1
// CHECK: -> tensor<6x2x2xf32>
// CHECK: %[[X:.*]] = tensor.pad %arg0 low[0, 0, 1] high[0, 0, 1]
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[IN]], #{{.*}}]
// CHECK-SAME: ins(%[[W]], %[[X]]
// CHECK: %[[S:.*]] = tensor.expand_shape {{.*}} output_shape [1, 3, 2, 6]
// CHECK: linalg.generic {indexing_maps = [#[[ORDER]], #{{.*}}]
// CHECK-SAME: ins(%[[S]]
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 1] [1, 3, 10] [1, 1, 1]
func.func @phases(%x: tensor<1x2x5xf32>, %w: tensor<2x3x4xf32>) -> tensor<1x3x10xf32> {
  %0 = bp.conv_transpose %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, output_padding = array<i64: 0>, groups = 1, finite_weight = true} : (tensor<1x2x5xf32>, tensor<2x3x4xf32>) -> tensor<1x3x10xf32>
  return %0 : tensor<1x3x10xf32>
}

// -----

// A border meets any weight, so it is left out; a window of the stride needs
// none.
// CHECK-LABEL: @phases_any_weight
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[1] [5] [1] : tensor<5xf32> into tensor<7xf32>
// CHECK: arith.select
func.func @phases_any_weight(%x: tensor<1x2x5xf32>, %w: tensor<2x3x4xf32>) -> tensor<1x3x10xf32> {
  %0 = bp.conv_transpose %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, output_padding = array<i64: 0>, groups = 1} : (tensor<1x2x5xf32>, tensor<2x3x4xf32>) -> tensor<1x3x10xf32>
  return %0 : tensor<1x3x10xf32>
}
// CHECK-LABEL: @phases_without_border
// CHECK-NOT: tensor.pad
// CHECK-NOT: tensor.insert_slice
// CHECK-NOT: arith.select
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @phases_without_border(%x: tensor<1x2x?xf32, #bp.dims<["1", "2", "n"]>>, %w: tensor<2x3x2xf32>) -> tensor<1x3x?xf32, #bp.dims<["1", "3", "2 * n"]>> attributes {bp.symbols = ["n"]} {
  %0 = bp.conv_transpose %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, output_padding = array<i64: 0>, groups = 1} : (tensor<1x2x?xf32, #bp.dims<["1", "2", "n"]>>, tensor<2x3x2xf32>) -> tensor<1x3x?xf32, #bp.dims<["1", "3", "2 * n"]>>
  return %0 : tensor<1x3x?xf32, #bp.dims<["1", "3", "2 * n"]>>
}

// -----

// A weight that may be infinite or NaN meets elements of the image alone.
// CHECK-DAG: #[[AT:.*]] = affine_map<(d0, d1, d2, d3, d4) -> (d2 + d4)>
// CHECK-LABEL: @any_weight
// CHECK-DAG: %[[P:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[1] [5] [2] : tensor<5xf32> into tensor<11xf32>
// CHECK-DAG: %[[X:.*]] = tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 1] [1, 2, 5] [1, 1, 2]
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #{{.*}}, #[[AT]], #{{.*}}]
// CHECK-SAME: ins(%{{.*}}, %[[X]], %[[P]] :
// CHECK: arith.addf
// CHECK: arith.cmpf une
// CHECK: arith.select
func.func @any_weight(%x: tensor<1x2x5xf32>, %w: tensor<2x3x3xf32>) -> tensor<1x3x9xf32> {
  %0 = bp.conv_transpose %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, output_padding = array<i64: 0>, groups = 1} : (tensor<1x2x5xf32>, tensor<2x3x3xf32>) -> tensor<1x3x9xf32>
  return %0 : tensor<1x3x9xf32>
}

// -----

// Integers have neither.
// CHECK-LABEL: @integers
// CHECK-NOT: arith.select
func.func @integers(%x: tensor<1x2x5xi32>, %w: tensor<2x3x3xi32>) -> tensor<1x3x9xi32> {
  %0 = bp.conv_transpose %x, %w {strides = array<i64: 2>, dilations = array<i64: 1>, low = array<i64: 1>, high = array<i64: 1>, output_padding = array<i64: 0>, groups = 1} : (tensor<1x2x5xi32>, tensor<2x3x3xi32>) -> tensor<1x3x9xi32>
  return %0 : tensor<1x3x9xi32>
}

// -----

// CHECK-LABEL: @pool
// CHECK: %[[LOWEST:.*]] = arith.constant 0xFF800000 : f32
// CHECK: %[[P:.*]] = tensor.pad
// CHECK: tensor.yield %[[LOWEST]]
// CHECK: %[[WINDOW:.*]] = tensor.empty() : tensor<3x3xf32>
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[P]], %[[WINDOW]]
// CHECK: arith.maximumf
func.func @pool(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %0 = bp.pool %x {kind = "max", window = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 1, 1>, high = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  return %0 : tensor<1x4x8x8xf32>
}

// -----

// Padding that no window reaches is left out; an axis with one window is cut to
// it.
// CHECK-LABEL: @surplus
// CHECK: %[[P:.*]] = tensor.pad %arg0 low[0, 0, 1, 0] high[0, 0, 0, 0]
// CHECK: tensor<1x2x8x3xf32> to tensor<1x2x9x3xf32>
// CHECK: tensor.extract_slice %[[P]][0, 0, 0, 0] [1, 2, 9, 2] [1, 1, 1, 1]
func.func @surplus(%x: tensor<1x2x8x3xf32>, %w: tensor<4x2x3x2xf32>) -> tensor<1x4x4x1xf32> {
  %0 = bp.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 1, 0>, high = array<i64: 1, 0>, groups = 1} : (tensor<1x2x8x3xf32>, tensor<4x2x3x2xf32>) -> tensor<1x4x4x1xf32>
  return %0 : tensor<1x4x4x1xf32>
}

// -----

// A large window is one axis after the other: fewer elements are looked at.
// CHECK-LABEL: @large_pool
// CHECK: %[[P:.*]] = tensor.pad
// CHECK: tensor<1x4x12x12xf32>
// CHECK: tensor.empty() : tensor<5xf32>
// CHECK: %[[ROWS:.*]] = linalg.generic {{.*}} ins(%[[P]], {{.*}} outs({{.*}} : tensor<1x4x12x8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[ROWS]], {{.*}} outs({{.*}} : tensor<1x4x8x8xf32>)
func.func @large_pool(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %0 = bp.pool %x {kind = "max", window = array<i64: 5, 5>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 2, 2>, high = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  return %0 : tensor<1x4x8x8xf32>
}

// -----

// A weight that is stored in blocks of outputs is read as it is: its blocks are
// an axis of the result, and the reshape that joins them is not computed.
// CHECK-DAG: #[[W:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d1, d6, d7, d5, d2)>
// CHECK-DAG: #[[Y:.*]] = affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3, d4)>
// CHECK-LABEL: @blocks
// CHECK: linalg.generic {indexing_maps = [#[[W]], #{{.*}}, #[[Y]]], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%arg1, {{.*}} : tensor<2x3x3x4x8xf32>,
// CHECK-NOT: linalg.generic
func.func @blocks(%x: tensor<1x4x9x8xf32>, %w: tensor<2x3x3x4x8xf32>) -> tensor<1x16x7x6xf32> {
  %0 = bp.transpose %w {permutation = array<i64: 0, 4, 3, 1, 2>} : (tensor<2x3x3x4x8xf32>) -> tensor<2x8x4x3x3xf32>
  %1 = bp.reshape %0 {dims = #bp.dims<["16", "4", "3", "3"]>} : (tensor<2x8x4x3x3xf32>) -> tensor<16x4x3x3xf32>
  %2 = bp.conv %x, %1 {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>, groups = 1} : (tensor<1x4x9x8xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x7x6xf32>
  return %2 : tensor<1x16x7x6xf32>
}

// -----

// What follows blocks of columns is computed in blocks, results of the dispatch
// as well, and written where they go.
// CHECK-LABEL: @two_results
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK: %[[Y:.*]] = tensor.expand_shape %arg3
// CHECK: %[[Z:.*]] = tensor.expand_shape %arg4
// CHECK: linalg.generic
// CHECK-SAME: outs(%[[Y]], %[[Z]] : tensor<?x2x16xf32>, tensor<?x2x16xf32>)
// CHECK-NOT: linalg.generic
func.func @two_results(%x: tensor<?x8xf32, #bp.dims<["n", "8"]>>, %w: tensor<2x8x16xf32>, %r: tensor<?x32xf32, #bp.dims<["n", "32"]>>) -> (tensor<?x32xf32, #bp.dims<["n", "32"]>>, tensor<?x32xf32, #bp.dims<["n", "32"]>>) attributes {bp.symbols = ["n"]} {
  %0 = bp.transpose %w {permutation = array<i64: 1, 0, 2>} : (tensor<2x8x16xf32>) -> tensor<8x2x16xf32>
  %1 = bp.reshape %0 {dims = #bp.dims<["8", "32"]>} : (tensor<8x2x16xf32>) -> tensor<8x32xf32>
  %2 = bp.matmul %x, %1 : (tensor<?x8xf32, #bp.dims<["n", "8"]>>, tensor<8x32xf32>) -> tensor<?x32xf32, #bp.dims<["n", "32"]>>
  %3 = bp.add %2, %r : (tensor<?x32xf32, #bp.dims<["n", "32"]>>, tensor<?x32xf32, #bp.dims<["n", "32"]>>) -> tensor<?x32xf32, #bp.dims<["n", "32"]>>
  %4 = bp.mul %3, %3 : (tensor<?x32xf32, #bp.dims<["n", "32"]>>, tensor<?x32xf32, #bp.dims<["n", "32"]>>) -> tensor<?x32xf32, #bp.dims<["n", "32"]>>
  return %3, %4 : tensor<?x32xf32, #bp.dims<["n", "32"]>>, tensor<?x32xf32, #bp.dims<["n", "32"]>>
}
