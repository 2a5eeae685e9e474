// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-lower-to-linalg --split-input-file | FileCheck %s

// Arguments of 4-bit elements are bytes, two elements in each; the op that
// converts them reads them.
// CHECK-LABEL: @reads
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<8xi8> {bp.dims = ["8"]}
// CHECK-COUNT-1: linalg.generic
// CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %c5
// CHECK: %[[AT:.*]] = arith.addi %[[ROW]], %{{.*}} : index
// CHECK: %[[PLACE:.*]] = arith.shrui %[[AT]], %c1 : index
// CHECK: %[[BYTE:.*]] = tensor.extract %[[X]][%[[PLACE]]]
// CHECK: %[[ODD:.*]] = arith.andi %[[AT]], %c1 : index
// CHECK: arith.shrsi %{{.*}}, %c28_i32
// CHECK: arith.sitofp
// CHECK-NOT: linalg.generic
func.func @reads(%x: tensor<3x5xi4>) -> tensor<3x5xf32> {
  %0 = bp.cast %x {dtype = f32} : (tensor<3x5xi4>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// -----

// CHECK-LABEL: @reads_unsigned
// CHECK-SAME: tensor<?xi8> {bp.dims = ["(n + 1) floordiv 2 + n"]}
// CHECK: arith.shrui %{{.*}}, %c28_i32
// CHECK: arith.uitofp
func.func @reads_unsigned(%x: tensor<?x3xui4, #bp.dims<["n", "3"]>>) -> tensor<?x3xf32, #bp.dims<["n", "3"]>>
    attributes {bp.symbols = ["n"]} {
  %0 = bp.cast %x {dtype = f32} : (tensor<?x3xui4, #bp.dims<["n", "3"]>>) -> tensor<?x3xf32, #bp.dims<["n", "3"]>>
  return %0 : tensor<?x3xf32, #bp.dims<["n", "3"]>>
}

// -----

// An iteration owns the byte that it writes. The half behind the last element
// is 0, and nothing is read for it.
// CHECK-LABEL: @writes
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: tensor<8xi8> {bp.dims = ["8"]}) -> tensor<8xi8>
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<3x5xi8>)
// CHECK: arith.cmpf ogt
// CHECK: arith.cmpf olt
// CHECK: arith.fptosi %{{.*}} : f32 to i8
// CHECK: %[[LINE:.*]] = tensor.collapse_shape %{{.*}} : tensor<3x5xi8> into tensor<15xi8>
// CHECK: linalg.generic {{.*}} outs(%[[OUT]] : tensor<8xi8>)
// CHECK: %[[LOW:.*]] = tensor.extract %[[LINE]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %c15
// CHECK: scf.if %[[INSIDE]]
// CHECK: tensor.extract %[[LINE]]
func.func @writes(%x: tensor<3x5xf32>) -> tensor<3x5xi4> {
  %0 = bp.cast %x {dtype = i4} : (tensor<3x5xf32>) -> tensor<3x5xi4>
  return %0 : tensor<3x5xi4>
}

// -----

// Integers keep their low four bits.
// CHECK-LABEL: @wraps
// CHECK: %[[BYTE:.*]] = arith.trunci %{{.*}} : i32 to i8
// CHECK: %[[HIGH:.*]] = arith.shli %[[BYTE]], %c4_i8
// CHECK: arith.shrsi %[[HIGH]], %c4_i8
func.func @wraps(%x: tensor<4xi32>) -> tensor<4xi4> {
  %0 = bp.cast %x {dtype = i4} : (tensor<4xi32>) -> tensor<4xi4>
  return %0 : tensor<4xi4>
}

// -----

// CHECK-LABEL: @wraps_unsigned
// CHECK: arith.shli %{{.*}}, %c4_i8
// CHECK: arith.shrui %{{.*}}, %c4_i8
func.func @wraps_unsigned(%x: tensor<4xi8>) -> tensor<4xui4> {
  %0 = bp.cast %x {dtype = ui4} : (tensor<4xi8>) -> tensor<4xui4>
  return %0 : tensor<4xui4>
}

// -----

// Between arguments and results an element has a byte of its own; a scalar too
// is a line.
// CHECK-LABEL: @moves
// CHECK-SAME: tensor<1xi8> {bp.dims = ["1"]}
// CHECK-SAME: -> tensor<2xi8>
// CHECK-DAG: tensor.extract %arg0
// CHECK-DAG: arith.constant dense<[-8, 7]> : tensor<2xi8>
func.func @moves(%x: tensor<i4>) -> tensor<3xi4> {
  %0 = bp.reshape %x {dims = #bp.dims<["1"]>} : (tensor<i4>) -> tensor<1xi4>
  %1 = bp.constant {dtype = i4, dims = #bp.dims<["2"]>, value = dense<[-8, 7]> : tensor<2xi4>} : () -> tensor<2xi4>
  %2 = bp.concat %0, %1 {axis = 0 : i64} : (tensor<1xi4>, tensor<2xi4>) -> tensor<3xi4>
  return %2 : tensor<3xi4>
}
