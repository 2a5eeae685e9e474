// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @relu(
// CHECK-SAME: %[[IN:.*]]: memref<?x4xf32> {bp.dims = ["n", "4"]}, %[[OUT:.*]]: memref<?x4xf32>
func.func @relu(%in: tensor<?x4xf32> {bp.dims = ["n", "4"]},
                %out: tensor<?x4xf32> {bp.dims = ["n", "4"]}, %n: index)
    -> tensor<?x4xf32> attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64,
                                   bp.symbols = ["n"]} {
  // CHECK: bufferization.to_tensor %[[IN]] restrict :
  // CHECK: %[[DEST:.*]] = bufferization.to_tensor %[[OUT]] restrict writable
  // CHECK: %[[R:.*]] = linalg.abs {{.*}} outs(%[[DEST]]
  %r = linalg.abs ins(%in : tensor<?x4xf32>) outs(%out : tensor<?x4xf32>)
      -> tensor<?x4xf32>
  // CHECK: bufferization.materialize_in_destination %[[R]] in restrict writable %[[OUT]]
  // CHECK: return{{$}}
  return %r : tensor<?x4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
// A result that feeds another is computed together with it.
// CHECK-LABEL: func.func @two(
func.func @two(%in: tensor<8xf32>, %a: tensor<8xf32>, %b: tensor<8xf32>)
    -> (tensor<8xf32>, tensor<8xf32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 2 : i64} {
  // CHECK: linalg.generic
  // CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8xf32>)
  // CHECK-NOT: linalg.generic
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%in : tensor<8xf32>) outs(%a : tensor<8xf32>) {
  ^bb0(%x: f32, %old: f32):
    %y = arith.addf %x, %x : f32
    linalg.yield %y : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%0 : tensor<8xf32>) outs(%b : tensor<8xf32>) {
  ^bb0(%x: f32, %old: f32):
    %y = arith.mulf %x, %x : f32
    linalg.yield %y : f32
  } -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// expected-error @+1 {{has 1 arguments, its attributes say 2}}
func.func @missing(%in: tensor<8xf32>) -> tensor<8xf32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  return %in : tensor<8xf32>
}
