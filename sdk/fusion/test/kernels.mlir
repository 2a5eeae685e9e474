// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --split-input-file --bp-choose-layouts=fusion=63 --bp-form-dispatches=fusion=63 | FileCheck %s

// A group is one dispatch with its kernel's name. Nothing is merged into it: it
// reads the broadcast from memory, and the relu behind it stays outside.

// CHECK-LABEL: func.func @main
// CHECK: %[[B:.*]] = call @broadcast_0(%arg1)
// CHECK: %[[K:.*]]:2 = call @acme_pair_1(%arg0, %[[B]])
// CHECK: %[[R:.*]] = call @relu_2(%[[K]]#1)
// CHECK: return %[[R]]
// CHECK: func.func @acme_pair_1(%{{.*}}: tensor<?x8xf32, #bp.dims<["n", "8"]>>, %{{.*}})
// CHECK-SAME: bp.kernel = {bindings = array<i32: 1, 0, -1, 2, 3>, graph = 1 : i64, name = "acme.pair", number = 0 : i64, symbols = #bp.dims<["n"]>}
// CHECK-NEXT: bp.add
// CHECK-NOT: bp.kernel
// CHECK: return
func.func @main(%x: tensor<?x8xf32, #bp.dims<["n", "8"]>>, %y: tensor<8xf32>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>> attributes {bp.symbols = ["n"]} {
  %b = bp.broadcast %y {axes = array<i64: 1>, dims = #bp.dims<["n", "8"]>} : (tensor<8xf32>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
  %s = bp.add %x, %b {bp.kernel = {group = 0 : i64, name = "acme.pair", number = 0 : i64, graph = 1 : i64, symbols = #bp.dims<["n"]>, bindings = 5 : i64, operands = array<i32: 1, 0>, results = array<i32: 3>}} : (tensor<?x8xf32, #bp.dims<["n", "8"]>>, tensor<?x8xf32, #bp.dims<["n", "8"]>>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
  %p = bp.mul %s, %b {bp.kernel = {group = 0 : i64, name = "acme.pair", number = 0 : i64, graph = 1 : i64, symbols = #bp.dims<["n"]>, bindings = 5 : i64, operands = array<i32: -1, 0>, results = array<i32: 4>}} : (tensor<?x8xf32, #bp.dims<["n", "8"]>>, tensor<?x8xf32, #bp.dims<["n", "8"]>>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
  %r = bp.relu %p : (tensor<?x8xf32, #bp.dims<["n", "8"]>>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
  return %r : tensor<?x8xf32, #bp.dims<["n", "8"]>>
}

// -----

// Ops between those of a group go before or after it.

// CHECK-LABEL: func.func @main
// CHECK: call @neg_0
// CHECK: call @acme_pair_1
// CHECK: call @exp_2
// CHECK: return
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = bp.exp %x {bp.kernel = {group = 4 : i64, name = "acme.pair", number = 0 : i64, graph = 0 : i64, symbols = #bp.dims<[]>, bindings = 4 : i64, operands = array<i32: 0>, results = array<i32: 2>}} : (tensor<8xf32>) -> tensor<8xf32>
  %after = bp.exp %a : (tensor<8xf32>) -> tensor<8xf32>
  %before = bp.neg %x : (tensor<8xf32>) -> tensor<8xf32>
  %b = bp.mul %a, %before {bp.kernel = {group = 4 : i64, name = "acme.pair", number = 0 : i64, graph = 0 : i64, symbols = #bp.dims<[]>, bindings = 4 : i64, operands = array<i32: -1, 1>, results = array<i32: 3>}} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %after, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// A group that needs its own result through another op is given up.

// CHECK: module attributes {bp.report = ["kernel acme.pair is not used: its ops depend on its own results"
// CHECK-NOT: @acme.pair
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = bp.exp %x {bp.kernel = {group = 0 : i64, name = "acme.pair", number = 0 : i64, graph = 0 : i64, symbols = #bp.dims<[]>, bindings = 4 : i64, operands = array<i32: 0>, results = array<i32: 2>}} : (tensor<8xf32>) -> tensor<8xf32>
  %n = bp.neg %a : (tensor<8xf32>) -> tensor<8xf32>
  %b = bp.mul %a, %n {bp.kernel = {group = 0 : i64, name = "acme.pair", number = 0 : i64, graph = 0 : i64, symbols = #bp.dims<[]>, bindings = 4 : i64, operands = array<i32: -1, 1>, results = array<i32: 3>}} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %b : tensor<8xf32>
}
