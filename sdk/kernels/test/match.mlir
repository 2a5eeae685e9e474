// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-match-kernels=file=%S/linear.kernel | FileCheck %s
// RUN: bp-opt %s --bp-match-kernels=file=%S/linear.kernel --bp-form-dispatches=fusion=63 | FileCheck %s --check-prefix=FORMED
// RUN: not bp-opt %s --bp-match-kernels=file=%S/match.mlir 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: match.mlir: line 25, column 1: expected kernel, found "func"

// The operands of the addition are in the other order, and others use the zeros
// of the relu: the kernel gets its own.

// CHECK: bp.report = ["kernel test.linear (T = f32, with b) computes matmul, add, max"]
// CHECK: %[[ZERO:.*]] = bp.constant  {dims
// CHECK: bp.matmul {{.*}}bp.kernel = {bindings = 4 : i64, graph = 0 : i64, group = 0 : i64, name = "test.linear", number = 0 : i64, operands = array<i32: 0, 1>, results = array<i32: -1>, symbols = #bp.dims<["rows", "16", "8"]>}
// CHECK: bp.broadcast {{.*}}operands = array<i32: 2>
// CHECK: bp.add {{.*}}operands = array<i32: -1, -1>
// CHECK: bp.max {{.*}}results = array<i32: 3>
// CHECK: bp.sub %{{.*}}, %[[ZERO]] :
// CHECK-NOT: bp.kernel

// FORMED: call @test_linear_0(%arg0, %arg1, %arg2)
// FORMED-NOT: bp.matmul
// FORMED: func.func @test_linear_0
// FORMED-SAME: bp.kernel = {bindings = array<i32: 0, 1, 2, 3>, graph = 0 : i64, name = "test.linear", number = 0 : i64, symbols = #bp.dims<["rows", "16", "8"]>}
// FORMED: bp.max
// FORMED-NEXT: return
func.func @main(%x: tensor<?x8xf32, #bp.dims<["rows", "8"]>>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<?x16xf32, #bp.dims<["rows", "16"]>> {
  %zero = bp.constant {dims = #bp.dims<["rows", "16"]>, dtype = f32, value = dense<0.0> : tensor<1xf32>} : () -> tensor<?x16xf32, #bp.dims<["rows", "16"]>>
  %p = bp.matmul %x, %w : (tensor<?x8xf32, #bp.dims<["rows", "8"]>>, tensor<8x16xf32>) -> tensor<?x16xf32, #bp.dims<["rows", "16"]>>
  %all = bp.broadcast %b {axes = array<i64: 1>, dims = #bp.dims<["rows", "16"]>} : (tensor<16xf32>) -> tensor<?x16xf32, #bp.dims<["rows", "16"]>>
  %s = bp.add %all, %p : (tensor<?x16xf32, #bp.dims<["rows", "16"]>>, tensor<?x16xf32, #bp.dims<["rows", "16"]>>) -> tensor<?x16xf32, #bp.dims<["rows", "16"]>>
  %y = bp.max %s, %zero : (tensor<?x16xf32, #bp.dims<["rows", "16"]>>, tensor<?x16xf32, #bp.dims<["rows", "16"]>>) -> tensor<?x16xf32, #bp.dims<["rows", "16"]>>
  %rest = bp.sub %y, %zero : (tensor<?x16xf32, #bp.dims<["rows", "16"]>>, tensor<?x16xf32, #bp.dims<["rows", "16"]>>) -> tensor<?x16xf32, #bp.dims<["rows", "16"]>>
  %e = bp.exp %rest : (tensor<?x16xf32, #bp.dims<["rows", "16"]>>) -> tensor<?x16xf32, #bp.dims<["rows", "16"]>>
  return %e : tensor<?x16xf32, #bp.dims<["rows", "16"]>>
}
