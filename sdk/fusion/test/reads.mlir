// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --split-input-file --bp-form-dispatches=fusion=31 | FileCheck %s

// What uses a symbol comes after its read, though no operand shows it, and is no
// part of what makes the size.
// CHECK-LABEL: func.func @main
// CHECK: %[[MADE:.*]]:2 = call @reduce_0
// CHECK-NEXT: %{{.*}} = bp.read %[[MADE]]#1 {bound = #bp.dims<["6"]>, symbol = "k"}
// CHECK-NEXT: %{{.*}} = call @add_1(%[[MADE]]#0)
module attributes {bp.symbols = [{divisor = 1 : i64, maximum = 6 : i64, minimum = 0 : i64, name = "k"}]} {
  func.func @main(%x: tensor<6xi64>) -> tensor<6xi64> {
    %n = bp.neg %x : (tensor<6xi64>) -> tensor<6xi64>
    %s = bp.reduce %n {kind = "sum", axes = array<i64: 0>, keep = false} : (tensor<6xi64>) -> tensor<i64>
    %c = bp.read %s {symbol = "k", bound = #bp.dims<["6"]>} : (tensor<i64>) -> tensor<i64>
    %d = bp.dim {value = #bp.dims<["k"]>} : () -> tensor<1xi64>
    %b = bp.broadcast %d {dims = #bp.dims<["6"]>, axes = array<i64: 0>} : (tensor<1xi64>) -> tensor<6xi64>
    %y = bp.add %n, %b : (tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
    return %y : tensor<6xi64>
  }
}

// -----

// A constant that stands before the read of its size, where folding puts it.
// CHECK-LABEL: func.func @main
// CHECK: %{{.*}} = bp.read
// CHECK-NEXT: %{{.*}} = call @constant_0
module attributes {bp.symbols = [{divisor = 1 : i64, maximum = 6 : i64, minimum = 0 : i64, name = "k"}]} {
  func.func @main(%x: tensor<i64>) -> tensor<?xi64, #bp.dims<["k"]>> {
    %y = bp.constant {dims = #bp.dims<["k"]>, dtype = i64, value = dense<1> : tensor<1xi64>} : () -> tensor<?xi64, #bp.dims<["k"]>>
    %c = bp.read %x {symbol = "k", bound = #bp.dims<["6"]>} : (tensor<i64>) -> tensor<i64>
    return %y : tensor<?xi64, #bp.dims<["k"]>>
  }
}
