// SPDX-License-Identifier: Apache-2.0
// RUN: not bp-opt %s --bp-to-llvm --split-input-file 2>/dev/null | FileCheck %s
// RUN: not bp-opt %s --bp-to-llvm --split-input-file 2>&1 | FileCheck %s --check-prefix=STRIDED

// An axis is split into two sizes that are not numbers.
// CHECK-LABEL: llvm.func @split
// CHECK: llvm.mul %{{.*}}, %{{.*}} : i64
func.func @split(%x: memref<?xf32>, %a: index, %b: index, %i: index) -> f32 {
  %y = memref.expand_shape %x [[0, 1, 2]] output_shape [%a, %b, 8] : memref<?xf32> into memref<?x?x8xf32>
  %v = memref.load %y[%i, %i, %i] : memref<?x?x8xf32>
  return %v : f32
}

// -----

// STRIDED: splits an axis of memory with strides into several sizes that are not numbers
func.func @strided(%x: memref<?xf32, strided<[2]>>, %a: index, %b: index, %i: index) -> f32 {
  %y = memref.expand_shape %x [[0, 1]] output_shape [%a, %b] : memref<?xf32, strided<[2]>> into memref<?x?xf32, strided<[?, 2]>>
  %v = memref.load %y[%i, %i] : memref<?x?xf32, strided<[?, 2]>>
  return %v : f32
}
