// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-lower-to-linalg --split-input-file --verify-diagnostics

func.func @composite(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'bp.relu' op has no lowering to linalg; decompose it first}}
  %0 = bp.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @weight() -> tensor<4xf32> {
  // expected-error@+1 {{'bp.weight' op has no lowering to linalg; decompose it first}}
  %0 = bp.weight {id = "00000000000000000000000000000000", dtype = f32, dims = #bp.dims<["4"]>} : () -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{'func.func' op has no lowering to linalg for elements of type 'i2'}}
func.func @narrow(%x: tensor<4xi2>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = bp.exp %y : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @symbol(%x: tensor<?xf32, #bp.dims<["n"]>>) -> tensor<?xf32, #bp.dims<["n"]>> attributes {bp.symbols = ["m"]} {
  // expected-error@+1 {{dim "n": symbol "n" is not in bp.symbols}}
  %0 = bp.exp %x : (tensor<?xf32, #bp.dims<["n"]>>) -> tensor<?xf32, #bp.dims<["n"]>>
  return %0 : tensor<?xf32, #bp.dims<["n"]>>
}

// -----

func.func @foreign(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = bp.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error@+1 {{'math.exp' op cannot stand among bp ops when they are lowered}}
  %1 = math.exp %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

func.func @window(%x: tensor<1x2x5xf32>, %w: tensor<2x3x?xf32, #bp.dims<["2", "3", "k"]>>) -> tensor<1x3x?xf32, #bp.dims<["1", "3", "k + 4"]>> attributes {bp.symbols = ["k"]} {
  // expected-error@+1 {{'bp.conv_transpose' op needs a window of static size, found k}}
  %0 = bp.conv_transpose %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>, output_padding = array<i64: 0>, groups = 1} : (tensor<1x2x5xf32>, tensor<2x3x?xf32, #bp.dims<["2", "3", "k"]>>) -> tensor<1x3x?xf32, #bp.dims<["1", "3", "k + 4"]>>
  return %0 : tensor<1x3x?xf32, #bp.dims<["1", "3", "k + 4"]>>
}

// -----

// expected-error@+1 {{'func.func' op needs bp.symbols to be a list of strings, found [1]}}
func.func @symbols(%x: tensor<4xf32>) -> tensor<4xf32> attributes {bp.symbols = [1]} {
  %0 = bp.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
