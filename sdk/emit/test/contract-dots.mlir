// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-contract=vector-bits=512 -split-input-file | FileCheck %s
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=256 registers=16" -split-input-file | FileCheck %s --check-prefix=AVX

// Few columns: they are copied, each in whole vectors, and a vector of a row of
// A meets each of them; four rows at once. The rest of k is masked, zeros stand
// against it. Lanes are added up in halves, all columns at once.
// CHECK-LABEL: func.func @few(
// CHECK-SAME: %[[A:[^:]*]]: memref<203x100xf32>
// CHECK: %[[COLUMNS:.*]] = memref.alloc() {{.*}}: memref<336xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c100 step %c1
// CHECK-COUNT-3: memref.store
// CHECK: scf.for %{{.*}} = %c100 to %c112 step %c1
// CHECK: scf.for %{{.*}} = %c0 to %c200 step %c4
// CHECK: scf.for %{{.*}} = %c0 to %c96 step %c16 iter_args
// CHECK-COUNT-12: math.fma {{.*}} : vector<16xf32>
// CHECK: vector.maskedload
// CHECK-COUNT-12: math.fma {{.*}} : vector<16xf32>
// CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
// CHECK: vector.maskedstore
// A row that is left.
// CHECK: scf.for %{{.*}} = %c200 to %c203 step %c1
// CHECK-COUNT-3: math.fma
// AVX-LABEL: func.func @few(
// AVX: scf.for %{{.*}} = %c0 to %c202 step %c2
// AVX-COUNT-6: math.fma {{.*}} : vector<8xf32>
func.func @few(%a: tensor<203x100xf32>, %b: tensor<100x3xf32>, %c: tensor<203x3xf32>) -> tensor<203x3xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<203x3xf32>) -> tensor<203x3xf32>
  %r = linalg.matmul ins(%a, %b : tensor<203x100xf32>, tensor<100x3xf32>)
      outs(%start : tensor<203x3xf32>) -> tensor<203x3xf32>
  return %r : tensor<203x3xf32>
}

// -----

// 8 columns fill the lanes of AVX2, so that columns are lanes there.
// CHECK-LABEL: func.func @eight(
// CHECK: step %c3
// CHECK-COUNT-24: math.fma {{.*}} : vector<16xf32>
// AVX-LABEL: func.func @eight(
// AVX-NOT: vector.shuffle
// AVX: return
func.func @eight(%a: tensor<?x2048xf32>, %b: tensor<2048x8xf32>, %c: tensor<?x8xf32>, %m: index) -> tensor<?x8xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64, bp.symbols = ["m"]} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x2048xf32>, tensor<2048x8xf32>)
      outs(%start : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
