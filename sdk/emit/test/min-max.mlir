// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-to-llvm | FileCheck %s

// LLVM's own functions, which propagate NaN and order -0 below +0: comparing
// and selecting would not do the second.

// CHECK-LABEL: llvm.func @extremes
// CHECK-DAG:     llvm.intr.minimum
// CHECK-DAG:     llvm.intr.maximum
// CHECK-NOT:     llvm.select
func.func @extremes(%a: vector<8xf32>, %b: vector<8xf32>)
    -> (vector<8xf32>, vector<8xf32>) {
  %low = arith.minimumf %a, %b : vector<8xf32>
  %high = arith.maximumf %a, %b : vector<8xf32>
  return %low, %high : vector<8xf32>, vector<8xf32>
}
