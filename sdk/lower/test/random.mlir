// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-lower-to-linalg | FileCheck %s

// One loop over all elements in row-major order; each computes ten rounds of
// two products, and takes one of four words.
// CHECK-LABEL: func.func @random
// CHECK-SAME: %[[KEY:[a-z0-9]+]]: tensor<i64>{{.*}}, %[[COUNTER:[a-z0-9]+]]: tensor<i64>
// CHECK:      linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%[[KEY]], %[[COUNTER]]
// CHECK:        linalg.index 0
// CHECK-COUNT-20: arith.muli
// CHECK-NOT:    arith.muli
// CHECK-COUNT-3: arith.select
// CHECK:        arith.trunci {{.*}} : i64 to i32
// CHECK:      tensor.expand_shape {{.*}} into tensor<3x5xi32>
func.func @random(%key: tensor<ui64>, %counter: tensor<ui64>) -> tensor<3x5xui32> {
  %0 = bp.random_bits %key, %counter {dims = #bp.dims<["3", "5"]>} : (tensor<ui64>, tensor<ui64>) -> tensor<3x5xui32>
  return %0 : tensor<3x5xui32>
}
