// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --split-input-file --bp-form-dispatches=fusion=31 | FileCheck %s
// RUN: bp-opt %s --split-input-file --bp-form-dispatches=fusion=1 | FileCheck %s --check-prefix=CHAINS
// RUN: bp-opt %s --split-input-file "--bp-form-dispatches=fusion=31 max-ops=1" | FileCheck %s --check-prefix=SMALL

// A bias and an activation are the epilogue of a product; the product is also
// used outside, so that the dispatch has two results.
// CHECK: bp.report = []
// CHECK: call @matmul_0({{.*}}) : {{.*}} -> (tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK-NOT: call
// CHECK: func.func @matmul_0
// CHECK-NEXT: bp.matmul
// CHECK-NEXT: bp.broadcast
// CHECK-NEXT: bp.add
// CHECK-NEXT: bp.tanh
// CHAINS: bp.report = ["matmul | add: the target allows no epilogue"]
// CHAINS: call @matmul_0
// CHAINS: call @add_1
// CHAINS: func.func @add_1
// CHAINS-NEXT: bp.broadcast
// CHAINS-NEXT: bp.add
// CHAINS-NEXT: bp.tanh
// SMALL: bp.report = ["matmul | add: more than the target's 1 ops per dispatch", "add | tanh: more than the target's 1 ops per dispatch"]
func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x8xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = bp.matmul %x, %w : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = bp.broadcast %b {dims = #bp.dims<["4", "8"]>, axes = array<i64: 1>} : (tensor<8xf32>) -> tensor<4x8xf32>
  %2 = bp.add %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = bp.tanh %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3, %0 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// %0 and %2 may not merge: %1 lies between and belongs to neither.
// CHECK: "exp | add: another dispatch lies between"
// CHECK-COUNT-3: call
// CHECK-NOT: call
func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = bp.exp %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = bp.matmul %0, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = bp.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = bp.add %0, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// -----

// A transpose that only a product reads is read in place.
// CHECK: call @matmul_0
// CHECK-NOT: call
// CHAINS: "transpose | matmul: the target does not fuse movement"
func.func @main(%x: tensor<4x2x3xf32>, %w: tensor<3x8xf32>) -> tensor<2x4x8xf32> {
  %0 = bp.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x2x3xf32>) -> tensor<2x4x3xf32>
  %1 = bp.matmul %0, %w : (tensor<2x4x3xf32>, tensor<3x8xf32>) -> tensor<2x4x8xf32>
  return %1 : tensor<2x4x8xf32>
}

// -----

// A reshape between dispatches is the same memory (bp-simplify moves it behind
// the second op).
// CHECK: exp | neg: a broadcast or reshape would compute the producer repeatedly"
// CHECK: %[[E:.*]] = call @exp_0
// CHECK-NEXT: %[[R:.*]] = bp.reshape %[[E]]
// CHECK-NEXT: call @neg_1(%[[R]])
func.func @main(%x: tensor<4x4x1xf32>) -> tensor<4x4xf32> {
  %0 = bp.exp %x : (tensor<4x4x1xf32>) -> tensor<4x4x1xf32>
  %1 = bp.reshape %0 {dims = #bp.dims<["4", "4"]>} : (tensor<4x4x1xf32>) -> tensor<4x4xf32>
  %2 = bp.neg %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// A constant that leaves the program needs a kernel; variables are written
// last.
// CHECK: %[[OLD:.*]] = bp.variable_read
// CHECK: %[[NEW:.*]] = call @neg_0(%[[OLD]])
// CHECK: %[[C:.*]] = call @constant_1()
// CHECK: bp.variable_write %[[NEW]]
// CHECK: return %[[C]]
func.func @main() -> tensor<4xf32> {
  %0 = bp.variable_read {variable = "v", dtype = f32, dims = #bp.dims<["4"]>} : () -> tensor<4xf32>
  %1 = bp.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
  bp.variable_write %1 {variable = "v"} : (tensor<4xf32>) -> ()
  %2 = bp.constant {value = dense<1.0> : tensor<4xf32>, dtype = f32, dims = #bp.dims<["4"]>} : () -> tensor<4xf32>
  return %2 : tensor<4xf32>
}
