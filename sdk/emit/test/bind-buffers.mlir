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

// -----

// Two results made from one sum are one op: a contraction has one epilogue.
// CHECK-LABEL: @siblings
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK: %[[BOTH:.*]]:2 = linalg.generic
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>)
// CHECK: math.absf
// CHECK: arith.negf
// CHECK-NOT: linalg.generic
// CHECK: materialize_in_destination %[[BOTH]]#0
// CHECK: materialize_in_destination %[[BOTH]]#1
func.func @siblings(%x: tensor<4x8xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {bp.inputs = 1 : i64, bp.outputs = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x8xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = arith.addf %out, %in : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%s : tensor<4xf32>) outs(%a : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = math.absf %in : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%s : tensor<4xf32>) outs(%b : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = arith.negf %in : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// So are two of which one is made of the other, in parts of axes.
// CHECK-LABEL: @joined
// CHECK: %[[BOTH:.*]]:2 = linalg.generic
// CHECK: math.absf
// CHECK: arith.negf
// CHECK-NOT: linalg.generic
// CHECK-DAG: %[[A:.*]] = tensor.collapse_shape %[[BOTH]]#0
// CHECK-DAG: %[[B:.*]] = tensor.collapse_shape %[[BOTH]]#1
// CHECK: materialize_in_destination %[[A]]
// CHECK: materialize_in_destination %[[B]]
func.func @joined(%x: tensor<2x4xf32>, %a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {bp.inputs = 1 : i64, bp.outputs = 2 : i64} {
  %ea = tensor.expand_shape %a [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %eb = tensor.expand_shape %b [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x4xf32>) outs(%ea : tensor<2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = math.absf %in : f32
    linalg.yield %t : f32
  } -> tensor<2x4xf32>
  %ca = tensor.collapse_shape %0 [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<2x4xf32>) outs(%eb : tensor<2x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = arith.negf %in : f32
    linalg.yield %t : f32
  } -> tensor<2x4xf32>
  %cb = tensor.collapse_shape %1 [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  return %ca, %cb : tensor<8xf32>, tensor<8xf32>
}

// -----

// A number for each row is no part of a loop over elements of rows that may
// have none; where rows have some it is.
// CHECK-LABEL: @rows
// CHECK: linalg.generic
// CHECK: math.rsqrt
// CHECK: linalg.generic
// CHECK: arith.mulf
func.func @rows(%x: tensor<4xf32>, %y: tensor<4x?xf32>, %a: tensor<4xf32>, %b: tensor<4x?xf32>) -> (tensor<4xf32>, tensor<4x?xf32>) attributes {bp.inputs = 2 : i64, bp.outputs = 2 : i64} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%a : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = math.rsqrt %in : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%y, %0 : tensor<4x?xf32>, tensor<4xf32>) outs(%b : tensor<4x?xf32>) {
  ^bb0(%in: f32, %row: f32, %out: f32):
    %t = arith.mulf %in, %row : f32
    linalg.yield %t : f32
  } -> tensor<4x?xf32>
  return %0, %1 : tensor<4xf32>, tensor<4x?xf32>
}
// CHECK-LABEL: @known_rows
// CHECK: linalg.generic
// CHECK: math.rsqrt
// CHECK-NOT: linalg.generic
// CHECK: arith.mulf
func.func @known_rows(%x: tensor<4xf32>, %y: tensor<4x9xf32>, %a: tensor<4xf32>, %b: tensor<4x9xf32>) -> (tensor<4xf32>, tensor<4x9xf32>) attributes {bp.inputs = 2 : i64, bp.outputs = 2 : i64} {
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%a : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %t = math.rsqrt %in : f32
    linalg.yield %t : f32
  } -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%y, %0 : tensor<4x9xf32>, tensor<4xf32>) outs(%b : tensor<4x9xf32>) {
  ^bb0(%in: f32, %row: f32, %out: f32):
    %t = arith.mulf %in, %row : f32
    linalg.yield %t : f32
  } -> tensor<4x9xf32>
  return %0, %1 : tensor<4xf32>, tensor<4x9xf32>
}
