// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-lower-to-linalg --split-input-file | FileCheck %s

// CHECK-DAG: #[[IN:.*]] = affine_map<(d0, d1, d2) -> (d1, d2, d0)>
// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-LABEL: @transpose
// CHECK: linalg.generic {indexing_maps = [#[[IN]], #[[ALL]]]
// CHECK-SAME: ins(%arg0 : tensor<2x3x4xf32>) outs(%arg1 : tensor<4x2x3xf32>)
func.func @transpose(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = bp.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  return %0 : tensor<4x2x3xf32>
}

// -----

// An axis of size 1 that is repeated has no index.
// CHECK: #[[IN:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: @broadcast
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %arg0 {{\[\[}}0, 1]] : tensor<1x4xf32> into tensor<4xf32>
// CHECK: linalg.generic {indexing_maps = [#[[IN]],
// CHECK-SAME: ins(%[[FLAT]]
func.func @broadcast(%x: tensor<1x4xf32>) -> tensor<?x4xf32, #bp.dims<["n", "4"]>> attributes {bp.symbols = ["n"]} {
  %0 = bp.broadcast %x {dims = #bp.dims<["n", "4"]>, axes = array<i64: 0, 1>} : (tensor<1x4xf32>) -> tensor<?x4xf32, #bp.dims<["n", "4"]>>
  return %0 : tensor<?x4xf32, #bp.dims<["n", "4"]>>
}

// -----

// Nothing is taken from the end, and nothing is put there.
// CHECK-LABEL: @empty_box
// CHECK: tensor.extract_slice %arg0[0] [0] [1] : tensor<4xf32> to tensor<0xf32>
// CHECK: linalg.generic
// CHECK-NOT: tensor.insert_slice
func.func @empty_box(%x: tensor<4xf32>) -> (tensor<0xf32>, tensor<4xf32>) {
  %0 = bp.slice %x {starts = #bp.dims<["4"]>, sizes = #bp.dims<["0"]>, strides = array<i64: 1>} : (tensor<4xf32>) -> tensor<0xf32>
  %1 = bp.concat %x, %0 {axis = 0 : i64} : (tensor<4xf32>, tensor<0xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<0xf32>, tensor<4xf32>
}

// -----

// Strides are steps; sizes are expressions; a slice of a transpose is a slice.
// CHECK-LABEL: @slice
// CHECK-SAME: %[[N:[a-z0-9]+]]: index)
// CHECK: %[[SLICE:.*]] = tensor.extract_slice %arg0[0, 1] [4, %[[N]]] [1, 2] : tensor<4x?xf32> to tensor<4x?xf32>
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[SLICE]] :
func.func @slice(%x: tensor<4x?xf32, #bp.dims<["4", "2*n"]>>) -> tensor<?x4xf32, #bp.dims<["n", "4"]>> attributes {bp.symbols = ["n"]} {
  %0 = bp.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x?xf32, #bp.dims<["4", "2*n"]>>) -> tensor<?x4xf32, #bp.dims<["2*n", "4"]>>
  %1 = bp.slice %0 {starts = #bp.dims<["1", "0"]>, sizes = #bp.dims<["n", "4"]>, strides = array<i64: 2, 1>} : (tensor<?x4xf32, #bp.dims<["2*n", "4"]>>) -> tensor<?x4xf32, #bp.dims<["n", "4"]>>
  return %1 : tensor<?x4xf32, #bp.dims<["n", "4"]>>
}

// -----

// Each operand is copied into its part of the destination.
// CHECK-LABEL: @concat
// CHECK: %[[A:.*]] = tensor.insert_slice %{{.*}} into %arg2[0, 0] [2, %arg3] [1, 1]
// CHECK: %[[B:.*]] = tensor.insert_slice %{{.*}} into %[[A]][0, %arg3] [2, 3] [1, 1]
// CHECK: return %[[B]]
func.func @concat(%a: tensor<2x?xf32, #bp.dims<["2", "n"]>>, %b: tensor<2x3xf32>) -> tensor<2x?xf32, #bp.dims<["2", "n + 3"]>> attributes {bp.symbols = ["n"]} {
  %0 = bp.concat %a, %b {axis = 1} : (tensor<2x?xf32, #bp.dims<["2", "n"]>>, tensor<2x3xf32>) -> tensor<2x?xf32, #bp.dims<["2", "n + 3"]>>
  return %0 : tensor<2x?xf32, #bp.dims<["2", "n + 3"]>>
}

// -----

// CHECK-LABEL: @pad
// CHECK: %[[V:.*]] = tensor.extract %arg1[]
// CHECK: %[[F:.*]] = linalg.fill ins(%[[V]] : f32) outs(%arg2
// CHECK: tensor.insert_slice %{{.*}} into %[[F]][1] [4] [1]
func.func @pad(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<7xf32> {
  %0 = bp.pad %x, %v {low = #bp.dims<["1"]>, high = #bp.dims<["2"]>, mode = "constant"} : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

// CHECK-LABEL: @pad_edge
// CHECK: linalg.generic
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: %[[J:.*]] = arith.subi %[[I]], %c1
// CHECK: %[[K:.*]] = arith.minsi %[[J]], %c3
// CHECK: %[[L:.*]] = arith.maxsi %{{.*}}
// CHECK: tensor.extract %arg0[%[[L]]]
func.func @pad_edge(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<7xf32> {
  %0 = bp.pad %x, %v {low = #bp.dims<["1"]>, high = #bp.dims<["2"]>, mode = "edge"} : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

// What is shorter than the axis is mirrored once, without divisions.
// CHECK-LABEL: @pad_reflect
// CHECK-NOT: arith.remsi
// CHECK-COUNT-2: arith.maxsi
// CHECK: tensor.extract
func.func @pad_reflect(%x: tensor<4xf32>, %v: tensor<f32>) -> tensor<7xf32> {
  %0 = bp.pad %x, %v {low = #bp.dims<["1"]>, high = #bp.dims<["2"]>, mode = "reflect"} : (tensor<4xf32>, tensor<f32>) -> tensor<7xf32>
  return %0 : tensor<7xf32>
}

// -----

// CHECK-LABEL: @reverse
// CHECK: %[[I:.*]] = linalg.index 1
// CHECK: %[[J:.*]] = arith.subi %c3, %[[I]]
// CHECK: tensor.extract %arg0[%{{.*}}, %[[J]]]
func.func @reverse(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = bp.reverse %x {axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// Indices are checked in an op of their own; the op that moves has no effects.
// CHECK-LABEL: @gather
// CHECK-SAME: bp.error
// CHECK: %[[CHECKED:.*]] = linalg.generic
// CHECK-SAME: ins(%arg1 : tensor<3xi32>)
// CHECK: arith.cmpi uge
// CHECK: memref.store
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[CHECKED]] : tensor<3xi64>) outs(%arg2
// CHECK-NOT: memref
// CHECK: tensor.extract %arg0
// CHECK: arith.select
func.func @gather(%x: tensor<10x4xf32>, %i: tensor<3xi32>) -> tensor<3x4xf32> {
  %0 = bp.gather %x, %i {axis = 0} : (tensor<10x4xf32>, tensor<3xi32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: @iota
// CHECK: %[[I:.*]] = linalg.index 1
// CHECK: %[[J:.*]] = arith.index_cast %[[I]] : index to i64
// CHECK: arith.sitofp %[[J]] : i64 to f32
func.func @iota() -> tensor<2x4xf32> {
  %0 = bp.iota {dtype = f32, dims = #bp.dims<["2", "4"]>, axis = 1} : () -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// A constant that is no splat stands in the code, bool as bytes.
// CHECK-LABEL: @constant
// CHECK: arith.constant dense<[1, 0, 1]> : tensor<3xi8>
func.func @constant() -> tensor<3xi1> {
  %0 = bp.constant {value = dense<[true, false, true]> : tensor<3xi1>, dtype = i1, dims = #bp.dims<["3"]>} : () -> tensor<3xi1>
  return %0 : tensor<3xi1>
}

// -----

// CHECK-LABEL: @pad_reflect_any
// CHECK: arith.remsi
// CHECK: tensor.extract
func.func @pad_reflect_any(%x: tensor<?xf32, #bp.dims<["n"]>>, %v: tensor<f32>) -> tensor<?xf32, #bp.dims<["n + 3"]>> attributes {bp.symbols = ["n"]} {
  %0 = bp.pad %x, %v {low = #bp.dims<["1"]>, high = #bp.dims<["2"]>, mode = "reflect"} : (tensor<?xf32, #bp.dims<["n"]>>, tensor<f32>) -> tensor<?xf32, #bp.dims<["n + 3"]>>
  return %0 : tensor<?xf32, #bp.dims<["n + 3"]>>
}
