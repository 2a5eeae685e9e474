// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-move-tables | FileCheck %s

// Few elements and equal ones stay, more than 16 are a weight, the same one for
// the same elements.
// CHECK-LABEL: func.func @main
// CHECK-DAG: bp.constant {{.*}}dense<7>
// CHECK-DAG: bp.constant {{.*}}dense<[1, 2]>
// CHECK-DAG: %[[A:.*]] = bp.weight {{.*}}id = "[[ID:[0-9a-f]+]]"
// CHECK-DAG: %[[B:.*]] = bp.weight {{.*}}id = "[[ID]]"
// CHECK: bp.concat {{.*}}%[[A]], %[[B]]
func.func @main() -> tensor<56xi8> {
  %0 = bp.constant {value = dense<7> : tensor<20xi8>, dtype = i8, dims = #bp.dims<["20"]>} : () -> tensor<20xi8>
  %1 = bp.constant {value = dense<[1, 2]> : tensor<2xi8>, dtype = i8, dims = #bp.dims<["2"]>} : () -> tensor<2xi8>
  %2 = bp.constant {value = dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]> : tensor<17xi8>, dtype = i8, dims = #bp.dims<["17"]>} : () -> tensor<17xi8>
  %3 = bp.constant {value = dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]> : tensor<17xi8>, dtype = i8, dims = #bp.dims<["17"]>} : () -> tensor<17xi8>
  %4 = bp.concat %0, %1, %2, %3 {axis = 0 : i64} : (tensor<20xi8>, tensor<2xi8>, tensor<17xi8>, tensor<17xi8>) -> tensor<56xi8>
  return %4 : tensor<56xi8>
}
