// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --split-input-file --bp-choose-layouts=work-groups=true | FileCheck %s
// RUN: bp-opt %s --split-input-file --bp-choose-layouts | FileCheck %s --check-prefix=ALONE

// The highest element, then the lowest index that has it. NaN is the highest.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.*]]: tensor<2x32000xf32>
// CHECK-DAG: %[[I:.*]] = bp.iota {axis = 1 : i64
// CHECK-DAG: %[[M:.*]] = bp.reduce %[[X]] {axes = array<i64: 1>, keep = true, kind = "max"}
// CHECK-DAG: %[[B:.*]] = bp.broadcast %[[M]]
// CHECK-DAG: %[[E:.*]] = bp.compare %[[X]], %[[B]] {direction = "eq"}
// CHECK-DAG: %[[N:.*]] = bp.compare %[[X]], %[[X]] {direction = "ne"}
// CHECK-DAG: %[[H:.*]] = bp.or %[[E]], %[[N]]
// CHECK-DAG: %[[C:.*]] = bp.constant {{.*}}dense<9223372036854775807>
// CHECK: %[[S:.*]] = bp.select %[[H]], %[[I]], %[[C]]
// CHECK: %[[R:.*]] = bp.reduce %[[S]] {axes = array<i64: 1>, kind = "min"}
// CHECK: return %[[R]]
// ALONE: bp.arg_reduce
// ALONE-NOT: bp.reduce
func.func @main(%x: tensor<2x32000xf32>) -> tensor<2xi64> {
  %0 = bp.arg_reduce %x {kind = "max", axis = 1 : i64} : (tensor<2x32000xf32>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// -----

// Integers equal themselves; the last index is the highest.
// CHECK-LABEL: func.func @main
// CHECK-NOT: "ne"
// CHECK: bp.constant {{.*}}dense<-9223372036854775808>
// CHECK: bp.reduce {{.*}} {axes = array<i64: 0>, keep = true, kind = "max"} : (tensor<600x3xi64>) -> tensor<1x3xi64>
func.func @main(%x: tensor<600x3xi8>) -> tensor<1x3xi64> {
  %0 = bp.arg_reduce %x {kind = "min", axis = 0 : i64, last = true, keep = true} : (tensor<600x3xi8>) -> tensor<1x3xi64>
  return %0 : tensor<1x3xi64>
}

// -----

// An axis that may be empty has index 0 then.
// CHECK-LABEL: func.func @main
// CHECK: %[[R:.*]] = bp.reduce {{.*}}kind = "min"
// CHECK: %[[NONE:.*]] = bp.compare %[[R]], {{.*}} {direction = "eq"}
// CHECK: bp.select %[[NONE]], {{.*}}, %[[R]]
module attributes {bp.symbols = [{name = "n", minimum = 0 : i64, maximum = 9223372036854775807 : i64, divisor = 1 : i64}]} {
  func.func @main(%x: tensor<?xf32, #bp.dims<["n"]>>) -> tensor<i64> {
    %0 = bp.arg_reduce %x {kind = "max", axis = 0 : i64} : (tensor<?xf32, #bp.dims<["n"]>>) -> tensor<i64>
    return %0 : tensor<i64>
  }
}

// -----

// Short ones and many stay searches.
// CHECK-LABEL: func.func @main
// CHECK-NOT: bp.reduce
// CHECK: bp.arg_reduce
// CHECK-NEXT: bp.arg_reduce
func.func @main(%x: tensor<2x511xf32>, %y: tensor<65x600xf32>) -> (tensor<2xi64>, tensor<65xi64>) {
  %0 = bp.arg_reduce %x {kind = "max", axis = 1 : i64} : (tensor<2x511xf32>) -> tensor<2xi64>
  %1 = bp.arg_reduce %y {kind = "max", axis = 1 : i64} : (tensor<65x600xf32>) -> tensor<65xi64>
  return %0, %1 : tensor<2xi64>, tensor<65xi64>
}
