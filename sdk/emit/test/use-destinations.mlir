// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bufferize -split-input-file | FileCheck %s

// Exponentials take long, and the share of each is the last to read it: they
// are computed where the share goes.
// CHECK-LABEL: func.func @softmax(
// CHECK-SAME: %[[X:[^:]*]]: memref<64x32xf32>, %[[Y:[^:]*]]: memref<64x32xf32>
// CHECK: scf.forall
// CHECK-NOT: memref.alloc{{.*}}x32xf32>
// CHECK: %[[TO:.*]] = memref.subview %[[Y]]
// CHECK: linalg.generic {{.*}} outs(%[[TO]]
// CHECK: math.exp
// CHECK: linalg.generic {{.*}} ins(%[[TO]]
// CHECK: linalg.generic {{.*}} ins(%[[TO]], {{.*}}) outs(%[[TO]]
// CHECK: arith.divf
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @softmax(%x: memref<64x32xf32>, %y: memref<64x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %in = bufferization.to_tensor %x restrict : memref<64x32xf32> to tensor<64x32xf32>
  %out = bufferization.to_tensor %y restrict writable : memref<64x32xf32> to tensor<64x32xf32>
  %r = scf.forall (%i) = (0) to (64) step (4) shared_outs(%o = %out) -> (tensor<64x32xf32>) {
    %a = tensor.extract_slice %in[%i, 0] [4, 32] [1, 1] : tensor<64x32xf32> to tensor<4x32xf32>
    %e0 = tensor.empty() : tensor<4x32xf32>
    %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x32xf32>) outs(%e0 : tensor<4x32xf32>) {
    ^bb0(%v: f32, %old: f32):
      %t = math.exp %v : f32
      linalg.yield %t : f32
    } -> tensor<4x32xf32>
    %s0 = tensor.empty() : tensor<4xf32>
    %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<4xf32>) -> tensor<4xf32>
    %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%e : tensor<4x32xf32>) outs(%s1 : tensor<4xf32>) {
    ^bb0(%v: f32, %old: f32):
      %t = arith.addf %old, %v : f32
      linalg.yield %t : f32
    } -> tensor<4xf32>
    %to = tensor.extract_slice %o[%i, 0] [4, 32] [1, 1] : tensor<64x32xf32> to tensor<4x32xf32>
    %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%e, %s : tensor<4x32xf32>, tensor<4xf32>) outs(%to : tensor<4x32xf32>) {
    ^bb0(%v: f32, %w: f32, %old: f32):
      %t = arith.divf %v, %w : f32
      linalg.yield %t : f32
    } -> tensor<4x32xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %d into %o[%i, 0] [4, 32] [1, 1] : tensor<4x32xf32> into tensor<64x32xf32>
    }
  }
  bufferization.materialize_in_destination %r in restrict writable %y : (tensor<64x32xf32>, memref<64x32xf32>) -> ()
  return
}

// -----

// Columns of the destination lie apart, and a difference is done sooner than
// memory: both keep memory of their own.
// CHECK-LABEL: func.func @columns(
// CHECK: memref.alloc() {{.*}}: memref<64x4xf32>
// CHECK-LABEL: func.func @quick(
// CHECK: memref.alloc() {{.*}}: memref<4x32xf32>
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
#row = affine_map<(i, j) -> (i)>
func.func @columns(%x: memref<64x32xf32>, %y: memref<64x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %in = bufferization.to_tensor %x restrict : memref<64x32xf32> to tensor<64x32xf32>
  %out = bufferization.to_tensor %y restrict writable : memref<64x32xf32> to tensor<64x32xf32>
  %r = scf.forall (%i) = (0) to (32) step (4) shared_outs(%o = %out) -> (tensor<64x32xf32>) {
    %a = tensor.extract_slice %in[0, %i] [64, 4] [1, 1] : tensor<64x32xf32> to tensor<64x4xf32>
    %e0 = tensor.empty() : tensor<64x4xf32>
    %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<64x4xf32>) outs(%e0 : tensor<64x4xf32>) {
    ^bb0(%v: f32, %old: f32):
      %t = math.exp %v : f32
      linalg.yield %t : f32
    } -> tensor<64x4xf32>
    %s0 = tensor.empty() : tensor<4xf32>
    %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<4xf32>) -> tensor<4xf32>
    %s = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%e : tensor<64x4xf32>) outs(%s1 : tensor<4xf32>) {
    ^bb0(%v: f32, %old: f32):
      %t = arith.addf %old, %v : f32
      linalg.yield %t : f32
    } -> tensor<4xf32>
    %to = tensor.extract_slice %o[0, %i] [64, 4] [1, 1] : tensor<64x32xf32> to tensor<64x4xf32>
    %d = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%e, %s : tensor<64x4xf32>, tensor<4xf32>) outs(%to : tensor<64x4xf32>) {
    ^bb0(%v: f32, %w: f32, %old: f32):
      %t = arith.divf %v, %w : f32
      linalg.yield %t : f32
    } -> tensor<64x4xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %d into %o[0, %i] [64, 4] [1, 1] : tensor<64x4xf32> into tensor<64x32xf32>
    }
  }
  bufferization.materialize_in_destination %r in restrict writable %y : (tensor<64x32xf32>, memref<64x32xf32>) -> ()
  return
}
func.func @quick(%x: memref<64x32xf32>, %y: memref<64x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %in = bufferization.to_tensor %x restrict : memref<64x32xf32> to tensor<64x32xf32>
  %out = bufferization.to_tensor %y restrict writable : memref<64x32xf32> to tensor<64x32xf32>
  %r = scf.forall (%i) = (0) to (64) step (4) shared_outs(%o = %out) -> (tensor<64x32xf32>) {
    %a = tensor.extract_slice %in[%i, 0] [4, 32] [1, 1] : tensor<64x32xf32> to tensor<4x32xf32>
    %e0 = tensor.empty() : tensor<4x32xf32>
    %e = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4x32xf32>) outs(%e0 : tensor<4x32xf32>) {
    ^bb0(%v: f32, %old: f32):
      %t = arith.subf %v, %zero : f32
      linalg.yield %t : f32
    } -> tensor<4x32xf32>
    %s0 = tensor.empty() : tensor<4xf32>
    %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<4xf32>) -> tensor<4xf32>
    %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%e : tensor<4x32xf32>) outs(%s1 : tensor<4xf32>) {
    ^bb0(%v: f32, %old: f32):
      %t = arith.addf %old, %v : f32
      linalg.yield %t : f32
    } -> tensor<4xf32>
    %to = tensor.extract_slice %o[%i, 0] [4, 32] [1, 1] : tensor<64x32xf32> to tensor<4x32xf32>
    %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%e, %s : tensor<4x32xf32>, tensor<4xf32>) outs(%to : tensor<4x32xf32>) {
    ^bb0(%v: f32, %w: f32, %old: f32):
      %t = arith.divf %v, %w : f32
      linalg.yield %t : f32
    } -> tensor<4x32xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %d into %o[%i, 0] [4, 32] [1, 1] : tensor<4x32xf32> into tensor<64x32xf32>
    }
  }
  bufferization.materialize_in_destination %r in restrict writable %y : (tensor<64x32xf32>, memref<64x32xf32>) -> ()
  return
}
