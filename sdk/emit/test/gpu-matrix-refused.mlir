// SPDX-License-Identifier: Apache-2.0
// RUN: not bp-opt %s -bp-bind-buffers -bp-gpu-contract=matrix-unit=arith 2>&1 | FileCheck %s

// CHECK: error: matrix-unit is "arith", which is no dialect with a table of matrix instructions
func.func @copy(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %r = linalg.copy ins(%x : tensor<4xf32>) outs(%out : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
