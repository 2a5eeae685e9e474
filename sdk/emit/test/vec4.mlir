// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-contract -bp-per-element -bp-bufferize -bp-expand-math -bp-to-gpu-entry -bp-to-spirv -split-input-file | FileCheck %s

// Four elements for each invocation; a row is neighbours, a column is one
// element for all four.
// CHECK: grid = ["16", "1", "1"], name = "rows"
// CHECK: spirv.GlobalVariable @[[SCALAR:.*]] bind(0, 0) {aliased} : {{.*}}<f32, stride=4>
// CHECK: spirv.GlobalVariable @[[A:.*]] bind(0, 0) {aliased} : {{.*}}<vector<4xf32>, stride=16>
// CHECK: spirv.GlobalVariable @[[ROW:.*]] bind(0, 1) {aliased} : {{.*}}<vector<4xf32>, stride=16>
// CHECK: spirv.GlobalVariable @[[OUT:.*]] bind(0, 3) {aliased} : {{.*}}<vector<4xf32>, stride=16>
// CHECK: spirv.ULessThan %[[ID:.*]], %cst2048_i32
// CHECK: spirv.AccessChain %{{.*}}[%cst0_i32, %[[ID]]] : {{.*}}vector<4xf32>
// CHECK: spirv.Load "StorageBuffer" {{.*}} : vector<4xf32>
// CHECK: spirv.Load "StorageBuffer" {{.*}} : vector<4xf32>
// CHECK: spirv.Load "StorageBuffer" {{.*}} : f32
// CHECK-NOT: spirv.Load "StorageBuffer"
// CHECK-COUNT-8: spirv.FAdd
// CHECK: spirv.CompositeConstruct
// CHECK: spirv.AccessChain %{{.*}}[%cst0_i32, %[[ID]]] : {{.*}}vector<4xf32>
// CHECK: spirv.Store "StorageBuffer" {{.*}} : vector<4xf32>
// CHECK-NOT: spirv.Store "StorageBuffer"
// CHECK: spirv.Return
func.func @rows(%a: tensor<64x128xf32>, %b: tensor<128xf32>, %c: tensor<64xf32>, %out: tensor<64x128xf32>)
    -> tensor<64x128xf32> attributes {bp.inputs = 3 : i64, bp.outputs = 1 : i64} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a, %b, %c : tensor<64x128xf32>, tensor<128xf32>, tensor<64xf32>) outs(%out : tensor<64x128xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32, %o: f32):
    %t = arith.addf %x, %y : f32
    %u = arith.addf %t, %z : f32
    linalg.yield %u : f32
  } -> tensor<64x128xf32>
  return %r : tensor<64x128xf32>
}

// -----

// Rows of a number that is no multiple of four, that nobody knows, or of one
// element, stay as they are.
// CHECK: grid = ["63", "1", "1"], name = "odd"
// CHECK-NOT: vector<4x
// CHECK: spirv.Return
func.func @odd(%a: tensor<64x126xf32>, %out: tensor<64x126xf32>)
    -> tensor<64x126xf32> attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<64x126xf32>) outs(%out : tensor<64x126xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.negf %x : f32
    linalg.yield %t : f32
  } -> tensor<64x126xf32>
  return %r : tensor<64x126xf32>
}

// -----

// CHECK: name = "unknown"
// CHECK-NOT: vector<4x
// CHECK: spirv.Return
func.func @unknown(%a: tensor<4096x?xf32> {bp.dims = ["4096", "n"]}, %out: tensor<4096x?xf32> {bp.dims = ["4096", "n"]}, %n: index)
    -> tensor<4096x?xf32> attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64, bp.symbols = ["n"]} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<4096x?xf32>) outs(%out : tensor<4096x?xf32>) {
  ^bb0(%x: f32, %o: f32):
    %t = arith.negf %x : f32
    linalg.yield %t : f32
  } -> tensor<4096x?xf32>
  return %r : tensor<4096x?xf32>
}

// -----

// CHECK: grid = ["32", "1", "1"], name = "column"
// CHECK-NOT: vector<4x
// CHECK: spirv.Return
func.func @column(%out: tensor<1x4096x1xf32>) -> tensor<1x4096x1xf32>
    attributes {bp.inputs = 0 : i64, bp.outputs = 1 : i64} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]} outs(%out : tensor<1x4096x1xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 1 : index
    %w = arith.index_cast %i : index to i32
    %t = arith.sitofp %w : i32 to f32
    linalg.yield %t : f32
  } -> tensor<1x4096x1xf32>
  return %r : tensor<1x4096x1xf32>
}

// -----

// A transposed operand has no neighbours.
// CHECK: name = "transposed"
// CHECK-NOT: vector<4x
// CHECK: spirv.Return
func.func @transposed(%a: tensor<128x64xf32>, %out: tensor<64x128xf32>)
    -> tensor<64x128xf32> attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : tensor<128x64xf32>) outs(%out : tensor<64x128xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<64x128xf32>
  return %r : tensor<64x128xf32>
}

// -----

// Sums along a row: four turns of the loop are neighbours.
// CHECK: name = "sums"
// CHECK: spirv.mlir.loop
// CHECK-COUNT-4: spirv.Load "StorageBuffer" {{.*}} : vector<4xi32>
// CHECK-NOT: spirv.Load "StorageBuffer"
// CHECK: spirv.mlir.merge
func.func @sums(%a: tensor<512x64xi32>, %out: tensor<512xi32>)
    -> tensor<512xi32> attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : i32
  %f = linalg.fill ins(%zero : i32) outs(%out : tensor<512xi32>) -> tensor<512xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<512x64xi32>) outs(%f : tensor<512xi32>) {
  ^bb0(%x: i32, %o: i32):
    %t = arith.addi %x, %o : i32
    linalg.yield %t : i32
  } -> tensor<512xi32>
  return %r : tensor<512xi32>
}

// -----

// Both blocks of a product and the tile of C. Rows of 14 pixels are no quads,
// the 196 of an image are.
// CHECK: name = "conv"
// CHECK-NOT: "StorageBuffer" {{.*}} : f32
// CHECK: spirv.Load "StorageBuffer" {{.*}} : vector<4xf32>
// CHECK-NOT: "StorageBuffer" {{.*}} : f32
// CHECK: spirv.Load "StorageBuffer" {{.*}} : vector<4xf32>
// CHECK-NOT: "StorageBuffer" {{.*}} : f32
// CHECK: spirv.Store "StorageBuffer" {{.*}} : vector<4xf32>
// CHECK-NOT: "StorageBuffer" {{.*}} : f32
// CHECK: spirv.Return
func.func @conv(%w: tensor<32x64xf32>, %x: tensor<1x64x14x14xf32>,
                %out: tensor<1x32x14x14xf32>) -> tensor<1x32x14x14xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<1x32x14x14xf32>) -> tensor<1x32x14x14xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(n, o, h, v, c) -> (o, c)>, affine_map<(n, o, h, v, c) -> (n, c, h, v)>, affine_map<(n, o, h, v, c) -> (n, o, h, v)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]} ins(%w, %x : tensor<32x64xf32>, tensor<1x64x14x14xf32>) outs(%f : tensor<1x32x14x14xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1x32x14x14xf32>
  return %r : tensor<1x32x14x14xf32>
}
