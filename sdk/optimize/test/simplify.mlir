// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-simplify | FileCheck %s

// CHECK-LABEL: @transposes
// CHECK-NEXT: return %arg0
func.func @transposes(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = bp.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>
  %1 = bp.transpose %0 {permutation = array<i64: 2, 0, 1>} : (tensor<3x4x2xf32>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// CHECK-LABEL: @unit_transpose
// CHECK-NEXT: bp.reshape %arg0
func.func @unit_transpose(%x: tensor<1x3x4xf32>) -> tensor<3x1x4xf32> {
  %0 = bp.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<1x3x4xf32>) -> tensor<3x1x4xf32>
  return %0 : tensor<3x1x4xf32>
}

// CHECK-LABEL: @reshapes
// CHECK-NEXT: return %arg0
func.func @reshapes(%x: tensor<?x4xf32, #bp.dims<["n", "4"]>>) -> tensor<?x4xf32, #bp.dims<["n", "4"]>> {
  %0 = bp.reshape %x {dims = #bp.dims<["4*n"]>} : (tensor<?x4xf32, #bp.dims<["n", "4"]>>) -> tensor<?xf32, #bp.dims<["4*n"]>>
  %1 = bp.reshape %0 {dims = #bp.dims<["n", "4"]>} : (tensor<?xf32, #bp.dims<["4*n"]>>) -> tensor<?x4xf32, #bp.dims<["n", "4"]>>
  return %1 : tensor<?x4xf32, #bp.dims<["n", "4"]>>
}

// A slice of a slice starts and steps in the outer tensor.
// CHECK-LABEL: @slices
// CHECK-NEXT: bp.slice %arg0 {sizes = #bp.dims<["2"]>, starts = #bp.dims<["7"]>, strides = array<i64: 6>}
func.func @slices(%x: tensor<20xf32>) -> tensor<2xf32> {
  %0 = bp.slice %x {starts = #bp.dims<["1"]>, sizes = #bp.dims<["9"]>, strides = array<i64: 2>} : (tensor<20xf32>) -> tensor<9xf32>
  %1 = bp.slice %0 {starts = #bp.dims<["3"]>, sizes = #bp.dims<["2"]>, strides = array<i64: 3>} : (tensor<9xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: @neutral
// CHECK-NEXT: return %arg0
func.func @neutral(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = bp.constant {value = dense<1.0> : tensor<f32>, dtype = f32, dims = #bp.dims<[]>} : () -> tensor<f32>
  %ones = bp.broadcast %one {dims = #bp.dims<["4"]>, axes = array<i64>} : (tensor<f32>) -> tensor<4xf32>
  %minus0 = bp.constant {value = dense<-0.0> : tensor<4xf32>, dtype = f32, dims = #bp.dims<["4"]>} : () -> tensor<4xf32>
  %0 = bp.mul %ones, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = bp.add %0, %minus0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// x + 0 turns -0 into +0: it stays.
// CHECK-LABEL: @plus_zero
// CHECK: bp.add
func.func @plus_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = bp.constant {value = dense<0.0> : tensor<4xf32>, dtype = f32, dims = #bp.dims<["4"]>} : () -> tensor<4xf32>
  %0 = bp.add %x, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: @casts
// CHECK-NEXT: return %arg0
func.func @casts(%x: tensor<4xui8>) -> tensor<4xui8> {
  %0 = bp.cast %x {dtype = f16} : (tensor<4xui8>) -> tensor<4xf16>
  %1 = bp.cast %0 {dtype = ui8} : (tensor<4xf16>) -> tensor<4xui8>
  return %1 : tensor<4xui8>
}

// i32 does not fit into f32.
// CHECK-LABEL: @inexact_casts
// CHECK-COUNT-2: bp.cast
func.func @inexact_casts(%x: tensor<4xi32>) -> tensor<4xi32> {
  %0 = bp.cast %x {dtype = f32} : (tensor<4xi32>) -> tensor<4xf32>
  %1 = bp.cast %0 {dtype = i32} : (tensor<4xf32>) -> tensor<4xi32>
  return %1 : tensor<4xi32>
}

// A batch of one weight is a matrix; of two it stays.
// CHECK-LABEL: @matmul_of_one_weight
// CHECK: %[[W:.*]] = bp.reshape %{{.*}} -> tensor<4x5xf32>
// CHECK: bp.matmul %arg0, %[[W]] : (tensor<1x3x4xf32>, tensor<4x5xf32>) -> tensor<1x3x5xf32>
// CHECK: bp.matmul %arg1, %{{.*}} : (tensor<2x3x4xf32>, tensor<2x4x5xf32>)
func.func @matmul_of_one_weight(%a: tensor<1x3x4xf32>, %b: tensor<2x3x4xf32>) -> (tensor<1x3x5xf32>, tensor<2x3x5xf32>) {
  %w = bp.weight {id = "0123456789abcdef0123456789abcdef", dtype = f32, dims = #bp.dims<["1", "4", "5"]>} : () -> tensor<1x4x5xf32>
  %0 = bp.matmul %a, %w : (tensor<1x3x4xf32>, tensor<1x4x5xf32>) -> tensor<1x3x5xf32>
  %v = bp.weight {id = "1123456789abcdef0123456789abcdef", dtype = f32, dims = #bp.dims<["2", "4", "5"]>} : () -> tensor<2x4x5xf32>
  %1 = bp.matmul %b, %v : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return %0, %1 : tensor<1x3x5xf32>, tensor<2x3x5xf32>
}

// CHECK-LABEL: @matmul_transpose
// CHECK-NEXT: bp.matmul %arg0, %arg1 {transpose_b = true}
func.func @matmul_transpose(%a: tensor<2x3x4xf32>, %b: tensor<2x5x4xf32>) -> tensor<2x3x5xf32> {
  %0 = bp.transpose %b {permutation = array<i64: 0, 2, 1>} : (tensor<2x5x4xf32>) -> tensor<2x4x5xf32>
  %1 = bp.matmul %a, %0 : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return %1 : tensor<2x3x5xf32>
}

// CHECK-LABEL: @fill
// CHECK-NEXT: bp.constant {dims = #bp.dims<["n"]>, dtype = f32, value = dense<2.000000e+00> : tensor<f32>}
func.func @fill() -> tensor<?xf32, #bp.dims<["n"]>> {
  %c = bp.constant {value = dense<2.0> : tensor<f32>, dtype = f32, dims = #bp.dims<[]>} : () -> tensor<f32>
  %0 = bp.broadcast %c {dims = #bp.dims<["n"]>, axes = array<i64>} : (tensor<f32>) -> tensor<?xf32, #bp.dims<["n"]>>
  return %0 : tensor<?xf32, #bp.dims<["n"]>>
}

// A reshape moves behind the elementwise ops that follow it, with what they
// read besides.
// CHECK-LABEL: @sink
// CHECK: %[[M:.*]] = bp.matmul
// CHECK: %[[B:.*]] = bp.broadcast %arg2 {axes = array<i64: 2>, dims = #bp.dims<["n", "1", "8"]>}
// CHECK: %[[A:.*]] = bp.add %[[M]], %[[B]]
// CHECK: %[[E:.*]] = bp.exp %[[A]]
// CHECK: bp.reshape %[[E]] {dims = #bp.dims<["n", "8"]>}
func.func @sink(%x: tensor<?x1x4xf32, #bp.dims<["n", "1", "4"]>>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>> {
  %0 = bp.matmul %x, %w : (tensor<?x1x4xf32, #bp.dims<["n", "1", "4"]>>, tensor<4x8xf32>) -> tensor<?x1x8xf32, #bp.dims<["n", "1", "8"]>>
  %1 = bp.reshape %0 {dims = #bp.dims<["n", "8"]>} : (tensor<?x1x8xf32, #bp.dims<["n", "1", "8"]>>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
  %2 = bp.broadcast %b {dims = #bp.dims<["n", "8"]>, axes = array<i64: 1>} : (tensor<8xf32>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
  %3 = bp.add %1, %2 : (tensor<?x8xf32, #bp.dims<["n", "8"]>>, tensor<?x8xf32, #bp.dims<["n", "8"]>>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
  %4 = bp.exp %3 : (tensor<?x8xf32, #bp.dims<["n", "8"]>>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
  return %4 : tensor<?x8xf32, #bp.dims<["n", "8"]>>
}

// What a pad added is cut off again.
// CHECK-LABEL: @slice_of_pad
// CHECK-NEXT: bp.slice %arg0 {sizes = #bp.dims<["n", "2"]>, starts = #bp.dims<["0", "1"]>, strides = array<i64: 1, 2>}
func.func @slice_of_pad(%x: tensor<?x4xf32, #bp.dims<["n", "4"]>>, %v: tensor<f32>) -> tensor<?x2xf32, #bp.dims<["n", "2"]>> {
  %0 = bp.pad %x, %v {low = #bp.dims<["1", "2"]>, high = #bp.dims<["n", "0"]>} : (tensor<?x4xf32, #bp.dims<["n", "4"]>>, tensor<f32>) -> tensor<?x6xf32, #bp.dims<["2*n + 1", "6"]>>
  %1 = bp.slice %0 {starts = #bp.dims<["1", "3"]>, sizes = #bp.dims<["n", "2"]>, strides = array<i64: 1, 2>} : (tensor<?x6xf32, #bp.dims<["2*n + 1", "6"]>>) -> tensor<?x2xf32, #bp.dims<["n", "2"]>>
  return %1 : tensor<?x2xf32, #bp.dims<["n", "2"]>>
}

// CHECK-LABEL: @slice_in_pad
// CHECK: bp.pad
// CHECK-NEXT: bp.slice
func.func @slice_in_pad(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<2xf32> {
  %0 = bp.pad %x, %v {low = #bp.dims<["1"]>, high = #bp.dims<["1"]>} : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
  %1 = bp.slice %0 {starts = #bp.dims<["4"]>, sizes = #bp.dims<["2"]>, strides = array<i64: 1>} : (tensor<6xf32>) -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// CHECK-LABEL: @unpack_of_pack
// CHECK-NEXT: return %arg0
func.func @unpack_of_pack(%x: tensor<5x?xi8, #bp.dims<["5", "n"]>>) -> tensor<5x?xi8, #bp.dims<["5", "n"]>> {
  %0 = bp.pack %x {axes = array<i64: 1>, tiles = array<i64: 8>} : (tensor<5x?xi8, #bp.dims<["5", "n"]>>) -> tensor<5x?x8xi8, #bp.dims<["5", "(n + 7) floordiv 8", "8"]>>
  %1 = bp.unpack %0 {axes = array<i64: 1>, tiles = array<i64: 8>, order = array<i64: 0, 1>, sizes = #bp.dims<["5", "n"]>} : (tensor<5x?x8xi8, #bp.dims<["5", "(n + 7) floordiv 8", "8"]>>) -> tensor<5x?xi8, #bp.dims<["5", "n"]>>
  return %1 : tensor<5x?xi8, #bp.dims<["5", "n"]>>
}

// Another order moves blocks; padding comes back as zeros.
// CHECK-LABEL: @layouts_that_differ
// CHECK: bp.pack
// CHECK: bp.unpack
// CHECK: bp.unpack
// CHECK: bp.pack
func.func @layouts_that_differ(%x: tensor<4x4xi8>, %y: tensor<3x2xi8>) -> (tensor<4x4xi8>, tensor<3x2xi8>) {
  %0 = bp.pack %x {axes = array<i64: 0, 1>, tiles = array<i64: 2, 2>} : (tensor<4x4xi8>) -> tensor<2x2x2x2xi8>
  %1 = bp.unpack %0 {axes = array<i64: 0, 1>, tiles = array<i64: 2, 2>, order = array<i64: 1, 0>, sizes = #bp.dims<["4", "4"]>} : (tensor<2x2x2x2xi8>) -> tensor<4x4xi8>
  %2 = bp.unpack %y {axes = array<i64: 0>, tiles = array<i64: 2>, sizes = #bp.dims<["5"]>} : (tensor<3x2xi8>) -> tensor<5xi8>
  %3 = bp.pack %2 {axes = array<i64: 0>, tiles = array<i64: 2>} : (tensor<5xi8>) -> tensor<3x2xi8>
  return %1, %3 : tensor<4x4xi8>, tensor<3x2xi8>
}

// CHECK-LABEL: @pack_of_unpack
// CHECK-NEXT: return %arg0
func.func @pack_of_unpack(%x: tensor<?x2xi8, #bp.dims<["n", "2"]>>) -> tensor<?x2xi8, #bp.dims<["n", "2"]>> {
  %0 = bp.unpack %x {axes = array<i64: 0>, tiles = array<i64: 2>, sizes = #bp.dims<["2*n"]>} : (tensor<?x2xi8, #bp.dims<["n", "2"]>>) -> tensor<?xi8, #bp.dims<["2*n"]>>
  %1 = bp.pack %0 {axes = array<i64: 0>, tiles = array<i64: 2>} : (tensor<?xi8, #bp.dims<["2*n"]>>) -> tensor<?x2xi8, #bp.dims<["n", "2"]>>
  return %1 : tensor<?x2xi8, #bp.dims<["n", "2"]>>
}

// Axes that are merged around a transpose and split again stay apart; a scale
// between them moves along.
// CHECK-LABEL: func.func @split_again
// CHECK: %[[T:.*]] = bp.transpose %arg0 {permutation = array<i64: 0, 1, 3, 2>} : ({{.*}}) -> tensor<?x4x8x?xf32, #bp.dims<["n", "4", "8", "s"]>>
// CHECK: %[[M:.*]] = bp.mul %[[T]]
// CHECK: return %[[M]]
func.func @split_again(%x: tensor<?x4x?x8xf32, #bp.dims<["n", "4", "s", "8"]>>) -> tensor<?x4x8x?xf32, #bp.dims<["n", "4", "8", "s"]>> {
  %0 = bp.reshape %x {dims = #bp.dims<["4*n", "s", "8"]>} : (tensor<?x4x?x8xf32, #bp.dims<["n", "4", "s", "8"]>>) -> tensor<?x?x8xf32, #bp.dims<["4*n", "s", "8"]>>
  %1 = bp.transpose %0 {permutation = array<i64: 0, 2, 1>} : (tensor<?x?x8xf32, #bp.dims<["4*n", "s", "8"]>>) -> tensor<?x8x?xf32, #bp.dims<["4*n", "8", "s"]>>
  %c = bp.constant {dims = #bp.dims<["4*n", "8", "s"]>, dtype = f32, value = dense<0.5> : tensor<f32>} : () -> tensor<?x8x?xf32, #bp.dims<["4*n", "8", "s"]>>
  %2 = bp.mul %1, %c : (tensor<?x8x?xf32, #bp.dims<["4*n", "8", "s"]>>, tensor<?x8x?xf32, #bp.dims<["4*n", "8", "s"]>>) -> tensor<?x8x?xf32, #bp.dims<["4*n", "8", "s"]>>
  %3 = bp.reshape %2 {dims = #bp.dims<["n", "4", "8", "s"]>} : (tensor<?x8x?xf32, #bp.dims<["4*n", "8", "s"]>>) -> tensor<?x4x8x?xf32, #bp.dims<["n", "4", "8", "s"]>>
  return %3 : tensor<?x4x8x?xf32, #bp.dims<["n", "4", "8", "s"]>>
}


// Nothing is gained where the axes stay merged.
// CHECK-LABEL: func.func @stay_merged
// CHECK: bp.reshape
// CHECK-NEXT: %[[T:.*]] = bp.transpose {{.*}} -> tensor<8x8x6xf32>
// CHECK-NEXT: return %[[T]]
func.func @stay_merged(%x: tensor<2x4x6x8xf32>) -> tensor<8x8x6xf32> {
  %0 = bp.reshape %x {dims = #bp.dims<["8", "6", "8"]>} : (tensor<2x4x6x8xf32>) -> tensor<8x6x8xf32>
  %1 = bp.transpose %0 {permutation = array<i64: 0, 2, 1>} : (tensor<8x6x8xf32>) -> tensor<8x8x6xf32>
  return %1 : tensor<8x8x6xf32>
}

// A window that is its whole image makes one row of a product.
// CHECK-LABEL: @whole_image
// CHECK-DAG: %[[X:.*]] = bp.reshape %arg0 {{.*}} -> tensor<?x36xf32
// CHECK-DAG: %[[W:.*]] = bp.reshape %arg1 {{.*}} -> tensor<8x36xf32>
// CHECK: %[[Y:.*]] = bp.matmul %[[X]], %[[W]] {transpose_b = true}
// CHECK: bp.reshape %[[Y]]
func.func @whole_image(%x: tensor<?x4x3x3xf32, #bp.dims<["n", "4", "3", "3"]>>, %w: tensor<8x4x3x3xf32>) -> tensor<?x8x1x1xf32, #bp.dims<["n", "8", "1", "1"]>> {
  %0 = bp.conv %x, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, low = array<i64: 0, 0>, high = array<i64: 0, 0>} : (tensor<?x4x3x3xf32, #bp.dims<["n", "4", "3", "3"]>>, tensor<8x4x3x3xf32>) -> tensor<?x8x1x1xf32, #bp.dims<["n", "8", "1", "1"]>>
  return %0 : tensor<?x8x1x1xf32, #bp.dims<["n", "8", "1", "1"]>>
}

// Elements of a window that no result reads inside of the image go.
// CHECK-LABEL: @window_in_padding
// CHECK: %[[W:.*]] = bp.slice %arg1 {sizes = #bp.dims<["8", "4", "1", "3"]>, starts = #bp.dims<["0", "0", "1", "0"]>
// CHECK: bp.conv %arg0, %[[W]] {dilations = array<i64: 6, 1>, high = array<i64: 0, 1>, low = array<i64: 0, 1>
func.func @window_in_padding(%x: tensor<1x4x5x5xf32>, %w: tensor<8x4x3x3xf32>) -> tensor<1x8x5x5xf32> {
  %0 = bp.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 6, 1>, low = array<i64: 6, 1>, high = array<i64: 6, 1>} : (tensor<1x4x5x5xf32>, tensor<8x4x3x3xf32>) -> tensor<1x8x5x5xf32>
  return %0 : tensor<1x8x5x5xf32>
}
