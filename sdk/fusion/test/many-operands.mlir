// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-form-dispatches="fusion=31 max-bindings=4" | FileCheck %s
// RUN: bp-opt %s --bp-form-dispatches="fusion=31 max-bindings=12" | FileCheck %s --check-prefix=ENOUGH

// Three operands and a result: eleven take four parts, two of these a fifth, and
// none of what this makes is fused beyond the limit.
// CHECK-LABEL: func.func @main
// CHECK: %[[P0:.*]] = call @concat_0(%arg0, %arg1, %arg2)
// CHECK: %[[P1:.*]] = call @concat_1(%arg3, %arg0, %arg1)
// CHECK: %[[P2:.*]] = call @concat_2(%arg2, %arg3, %arg0)
// CHECK: %[[P3:.*]] = call @concat_3(%arg1, %arg2)
// CHECK: %[[P4:.*]] = call @concat_4(%[[P0]], %[[P1]]) : {{.*}} -> tensor<12xf32>
// CHECK: call @concat_5(%[[P4]], %[[P2]], %[[P3]]) : {{.*}} -> tensor<22xf32>
// CHECK-NOT: call
// ENOUGH: call @concat_0
// ENOUGH-NOT: call
func.func @main(%a: tensor<2xf32>, %b: tensor<2xf32>, %c: tensor<2xf32>, %d: tensor<2xf32>) -> tensor<22xf32> {
  %0 = bp.concat %a, %b, %c, %d, %a, %b, %c, %d, %a, %b, %c {axis = 0 : i64} : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<22xf32>
  return %0 : tensor<22xf32>
}
