// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -canonicalize -bp-bufferize -split-input-file | FileCheck %s

// What is updated in place is copied to the result at once.
// CHECK-LABEL: func.func @update
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<8x4xf32>, %{{.*}}: memref<4xf32>, %[[OUT:[a-z0-9]+]]: memref<8x4xf32>)
// CHECK-NOT: memref.alloc
// CHECK: linalg.copy ins(%[[X]] : memref<8x4xf32>) outs(%[[OUT]] : memref<8x4xf32>)
// CHECK: scf.for
// CHECK: memref.store %{{.*}}, %[[OUT]]
// CHECK-NOT: linalg.copy
func.func @update(%x: tensor<8x4xf32>, %u: tensor<4xf32>, %out: tensor<8x4xf32>)
    -> tensor<8x4xf32> attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %x) -> (tensor<8x4xf32>) {
    %v = tensor.extract %u[%i] : tensor<4xf32>
    %n = tensor.insert %v into %t[%c1, %i] : tensor<8x4xf32>
    scf.yield %n : tensor<8x4xf32>
  }
  return %r : tensor<8x4xf32>
}

// -----

// A second result is a copy of the first one.
// CHECK-LABEL: func.func @twice
// CHECK-SAME: (%[[X:[a-z0-9]+]]: memref<8xf32>, %[[A:[a-z0-9]+]]: memref<8xf32>, %[[B:[a-z0-9]+]]: memref<8xf32>)
// CHECK-NOT: memref.alloc
// CHECK: linalg.copy ins(%[[X]] : memref<8xf32>) outs(%[[FIRST:[a-z0-9]+]] : memref<8xf32>)
// CHECK: memref.store %{{.*}}, %[[FIRST]]
// CHECK: linalg.copy ins(%[[FIRST]] : memref<8xf32>)
// CHECK-NOT: linalg.copy
func.func @twice(%x: tensor<8xf32>, %a: tensor<8xf32>, %b: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>) attributes {bp.inputs = 1 : i64, bp.outputs = 2 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = tensor.insert %zero into %x[%c1] : tensor<8xf32>
  return %r, %r : tensor<8xf32>, tensor<8xf32>
}
