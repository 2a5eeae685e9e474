// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-form-dispatches | FileCheck %s --check-prefix=SPLIT
// RUN: bp-opt %s --bp-form-dispatches=fusion=31 | FileCheck %s --check-prefix=FUSED

// Without fusion each op is a dispatch, and broadcasts go with their users.
// SPLIT: module attributes {bp.report = []}
// SPLIT-COUNT-5: call @
// SPLIT-NOT: call @
// SPLIT: func.func @reduce_0(%arg0: tensor<?x8xf32
// SPLIT-SAME: attributes {bp.dispatch, bp.symbols = ["n"]}
// SPLIT-NEXT: bp.reduce
// SPLIT-NEXT: return
// SPLIT: func.func @sub_1
// SPLIT-NEXT: bp.broadcast
// SPLIT-NEXT: bp.sub

// FUSED: call @[[NAME:.*]](%arg0)
// FUSED-NOT: call
// FUSED: func.func @[[NAME]](%arg0: tensor<?x8xf32, #bp.dims<["n", "8"]>>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
// FUSED: return %{{[^,]*}} :
func.func @main(%x: tensor<?x8xf32, #bp.dims<["n", "8"]>>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>> {
  %0 = bp.reduce %x {kind = "max", axes = array<i64: 1>, keep = true} : (tensor<?x8xf32, #bp.dims<["n", "8"]>>) -> tensor<?x1xf32, #bp.dims<["n", "1"]>>
  %1 = bp.broadcast %0 {dims = #bp.dims<["n", "8"]>, axes = array<i64: 0, 1>} : (tensor<?x1xf32, #bp.dims<["n", "1"]>>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
  %2 = bp.sub %x, %1 : (tensor<?x8xf32, #bp.dims<["n", "8"]>>, tensor<?x8xf32, #bp.dims<["n", "8"]>>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
  %3 = bp.exp %2 : (tensor<?x8xf32, #bp.dims<["n", "8"]>>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
  %4 = bp.reduce %3 {kind = "sum", axes = array<i64: 1>, keep = true} : (tensor<?x8xf32, #bp.dims<["n", "8"]>>) -> tensor<?x1xf32, #bp.dims<["n", "1"]>>
  %5 = bp.broadcast %4 {dims = #bp.dims<["n", "8"]>, axes = array<i64: 0, 1>} : (tensor<?x1xf32, #bp.dims<["n", "1"]>>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
  %6 = bp.div %3, %5 : (tensor<?x8xf32, #bp.dims<["n", "8"]>>, tensor<?x8xf32, #bp.dims<["n", "8"]>>) -> tensor<?x8xf32, #bp.dims<["n", "8"]>>
  return %6 : tensor<?x8xf32, #bp.dims<["n", "8"]>>
}
