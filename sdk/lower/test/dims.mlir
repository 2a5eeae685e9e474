// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-lower-to-linalg | FileCheck %s

// Dims are arithmetic on the symbol arguments.
// CHECK-LABEL: @dims
// CHECK-SAME: %[[N:[a-z0-9]+]]: index, %[[M:[a-z0-9]+]]: index) -> tensor<6xi64>
// CHECK-DAG: %[[TWICE:.*]] = arith.muli %[[N]], %c2
// CHECK-DAG: %[[SUM:.*]] = arith.addi %[[M]], %[[TWICE]]
// CHECK-DAG: arith.floordivsi %[[N]], %c3
// CHECK-DAG: arith.minsi %[[M]], %[[N]]
// CHECK-DAG: arith.maxsi %[[M]], %[[N]]
// CHECK-DAG: arith.muli %[[M]], %[[N]]
// CHECK: tensor.insert %{{.*}} into %arg0[%c0]
func.func @dims() -> tensor<6xi64> attributes {bp.symbols = ["n", "m"]} {
  %0 = bp.dim {value = #bp.dims<["2*n + m", "n floordiv 3", "min(n, m)", "max(n, m)", "n*m", "7"]>} : () -> tensor<6xi64>
  return %0 : tensor<6xi64>
}

// A division within a choice never divides by zero.
// CHECK-LABEL: @choices
// CHECK-SAME: %[[N:[a-z0-9]+]]: index, %[[M:[a-z0-9]+]]: index) -> tensor<2xi64>
// CHECK: arith.divsi
// CHECK: %[[ZERO:.*]] = arith.cmpi eq, %[[M]], %c0
// CHECK: %[[SAFE:.*]] = arith.select %[[ZERO]], %c1{{.*}}, %[[M]]
// CHECK: %[[QUOTIENT:.*]] = arith.floordivsi %[[N]], %[[SAFE]]
// CHECK: %[[TAKEN:.*]] = arith.cmpi ne, %[[M]], %c0
// CHECK: arith.select %[[TAKEN]], %[[QUOTIENT]], %c5
func.func @choices() -> tensor<2xi64> attributes {bp.symbols = ["n", "m"]} {
  %0 = bp.dim {value = #bp.dims<["truncdiv(n - m, 2)", "select(m, n floordiv m, 5)"]>} : () -> tensor<2xi64>
  return %0 : tensor<2xi64>
}
