// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-contract=vector-bits=256 | FileCheck %s
// RUN: bp-opt %s -bp-bind-buffers -bp-contract=vector-bits=512 | FileCheck %s --check-prefix=WIDE
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=512 intrinsics=llvm.x86.avx512 products=dpbusd,dpwssd" | FileCheck %s --check-prefix=VNNI
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=512 intrinsics=llvm.x86.avx512 products=tdpb,dpbusd,dpwssd" | FileCheck %s --check-prefix=TILES

// A weight in blocks of 16 columns is read where it is, panels of whole blocks:
// no copy of it is made, and no lane is gathered.
// CHECK-LABEL: func.func @columns
// CHECK: %[[W:.*]] = memref.collapse_shape %arg1
// CHECK-NOT: vector.maskedload
// CHECK-NOT: vector.gather
// CHECK: %{{.*}}:8 = scf.for {{.*}} iter_args
// CHECK-COUNT-2: vector.load %[[W]]
// CHECK-COUNT-8: math.fma {{.*}} : vector<8xf32>
// CHECK-NOT: linalg
// WIDE-LABEL: func.func @columns
// WIDE: %[[W:.*]] = memref.collapse_shape %arg1
// WIDE-NOT: vector.maskedload
// WIDE: scf.for {{.*}} iter_args
// WIDE: vector.load %[[W]]
// WIDE: math.fma {{.*}} : vector<16xf32>
// WIDE-NOT: linalg
func.func @columns(%x: tensor<4x64xf32>, %w: tensor<3x64x16xf32>,
                   %c: tensor<4x3x16xf32>) -> tensor<4x3x16xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<4x3x16xf32>)
      -> tensor<4x3x16xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(m, b, n, k) -> (m, k)>,
                       affine_map<(m, b, n, k) -> (b, k, n)>,
                       affine_map<(m, b, n, k) -> (m, b, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<4x64xf32>, tensor<3x64x16xf32>)
      outs(%start : tensor<4x3x16xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x3x16xf32>
  return %r : tensor<4x3x16xf32>
}

// So is each weight of a batch, which is one work-group where it is little work.
// CHECK-LABEL: func.func @batch
// CHECK: %[[W:.*]] = memref.collapse_shape %arg1
// CHECK-NOT: scf.forall
// CHECK: scf.for {{.*}} = %c0 to %c2 step %c1
// CHECK: scf.for {{.*}} = %c0 to %c48 step %c16
// CHECK-NOT: vector.maskedload
// CHECK-NOT: vector.gather
// CHECK: %{{.*}}:8 = scf.for {{.*}} iter_args
// CHECK-COUNT-2: vector.load %[[W]]
// CHECK-NOT: linalg
func.func @batch(%x: tensor<2x4x64xf32>, %w: tensor<2x3x64x16xf32>,
                 %c: tensor<2x4x3x16xf32>) -> tensor<2x4x3x16xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<2x4x3x16xf32>)
      -> tensor<2x4x3x16xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, m, b, n, k) -> (i, m, k)>,
                       affine_map<(i, m, b, n, k) -> (i, b, k, n)>,
                       affine_map<(i, m, b, n, k) -> (i, m, b, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
                        "reduction"]}
      ins(%x, %w : tensor<2x4x64xf32>, tensor<2x3x64x16xf32>)
      outs(%start : tensor<2x4x3x16xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x4x3x16xf32>
  return %r : tensor<2x4x3x16xf32>
}

// Bytes of such a weight become numbers on the way to the product.
// CHECK-LABEL: func.func @bytes
// CHECK: %[[W:.*]] = memref.collapse_shape %arg1
// CHECK-NOT: memref.alloc() {{.*}}xi8
// CHECK: scf.for {{.*}} iter_args
// CHECK: vector.load %[[W]]{{.*}}, vector<16xi8>
// CHECK: arith.sitofp {{.*}} : vector<8xi8> to vector<8xf32>
// CHECK: math.fma {{.*}} : vector<8xf32>
// CHECK-NOT: linalg
func.func @bytes(%x: tensor<4x64xf32>, %w: tensor<3x64x16xi8>,
                 %c: tensor<4x3x16xf32>) -> tensor<4x3x16xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x64x16xf32>
  %wide = linalg.generic {
      indexing_maps = [affine_map<(b, k, n) -> (b, k, n)>,
                       affine_map<(b, k, n) -> (b, k, n)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w : tensor<3x64x16xi8>) outs(%e : tensor<3x64x16xf32>) {
  ^bb0(%a: i8, %old: f32):
    %y = arith.sitofp %a : i8 to f32
    linalg.yield %y : f32
  } -> tensor<3x64x16xf32>
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<4x3x16xf32>)
      -> tensor<4x3x16xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(m, b, n, k) -> (m, k)>,
                       affine_map<(m, b, n, k) -> (b, k, n)>,
                       affine_map<(m, b, n, k) -> (m, b, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %wide : tensor<4x64xf32>, tensor<3x64x16xf32>)
      outs(%start : tensor<4x3x16xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x3x16xf32>
  return %r : tensor<4x3x16xf32>
}

// An instruction of a product of bytes takes four rows of a block, which are
// put in order in registers.
// VNNI-LABEL: func.func @integers
// VNNI: %[[W:.*]] = memref.collapse_shape %arg1
// VNNI: scf.for {{.*}} iter_args
// VNNI: %[[ROWS:.*]] = vector.load %[[W]]{{.*}}, vector<64xi8>
// VNNI: vector.shuffle %[[ROWS]], %[[ROWS]] [0, 16, 32, 48, 1, 17, 33, 49,
// VNNI: vpdpbusd
// VNNI-NOT: linalg
func.func @integers(%x: tensor<4x64xi8>, %w: tensor<3x64x16xi8>,
                    %c: tensor<4x3x16xi32>) -> tensor<4x3x16xi32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : i32
  %ex = tensor.empty() : tensor<4x64xi32>
  %wx = linalg.generic {
      indexing_maps = [affine_map<(b, k) -> (b, k)>,
                       affine_map<(b, k) -> (b, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x64xi8>) outs(%ex : tensor<4x64xi32>) {
  ^bb0(%a: i8, %old: i32):
    %y = arith.extui %a : i8 to i32
    linalg.yield %y : i32
  } -> tensor<4x64xi32>
  %e = tensor.empty() : tensor<3x64x16xi32>
  %wide = linalg.generic {
      indexing_maps = [affine_map<(b, k, n) -> (b, k, n)>,
                       affine_map<(b, k, n) -> (b, k, n)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w : tensor<3x64x16xi8>) outs(%e : tensor<3x64x16xi32>) {
  ^bb0(%a: i8, %old: i32):
    %y = arith.extsi %a : i8 to i32
    linalg.yield %y : i32
  } -> tensor<3x64x16xi32>
  %start = linalg.fill ins(%zero : i32) outs(%c : tensor<4x3x16xi32>)
      -> tensor<4x3x16xi32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(m, b, n, k) -> (m, k)>,
                       affine_map<(m, b, n, k) -> (b, k, n)>,
                       affine_map<(m, b, n, k) -> (m, b, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%wx, %wide : tensor<4x64xi32>, tensor<3x64x16xi32>)
      outs(%start : tensor<4x3x16xi32>) {
  ^bb0(%a: i32, %b: i32, %sum: i32):
    %p = arith.muli %a, %b : i32
    %s = arith.addi %sum, %p : i32
    linalg.yield %s : i32
  } -> tensor<4x3x16xi32>
  return %r : tensor<4x3x16xi32>
}

// Bytes that are put in order for each tile are used by many rows: 8 x 3 sums.
// VNNI-LABEL: func.func @rows
// VNNI: scf.for {{.*}} iter_args
// VNNI-COUNT-3: vector.shuffle
// VNNI-NOT: vector.shuffle
// VNNI-COUNT-24: vpdpbusd
// VNNI: scf.yield
// Four rows of a block are put in order by one instruction.
// TILES-LABEL: func.func @rows
// TILES-COUNT-2: llvm.inline_asm "vpermb $2, $1, $0"
// TILES-NOT: vpermb
// TILES-COUNT-2: llvm.call_intrinsic "llvm.x86.tdpbusd.internal"
func.func @rows(%x: tensor<16x64xi8>, %w: tensor<6x64x16xi8>,
                %c: tensor<16x6x16xi32>) -> tensor<16x6x16xi32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : i32
  %ex = tensor.empty() : tensor<16x64xi32>
  %wx = linalg.generic {
      indexing_maps = [affine_map<(b, k) -> (b, k)>,
                       affine_map<(b, k) -> (b, k)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<16x64xi8>) outs(%ex : tensor<16x64xi32>) {
  ^bb0(%a: i8, %old: i32):
    %y = arith.extui %a : i8 to i32
    linalg.yield %y : i32
  } -> tensor<16x64xi32>
  %e = tensor.empty() : tensor<6x64x16xi32>
  %wide = linalg.generic {
      indexing_maps = [affine_map<(b, k, n) -> (b, k, n)>,
                       affine_map<(b, k, n) -> (b, k, n)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%w : tensor<6x64x16xi8>) outs(%e : tensor<6x64x16xi32>) {
  ^bb0(%a: i8, %old: i32):
    %y = arith.extsi %a : i8 to i32
    linalg.yield %y : i32
  } -> tensor<6x64x16xi32>
  %start = linalg.fill ins(%zero : i32) outs(%c : tensor<16x6x16xi32>)
      -> tensor<16x6x16xi32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(m, b, n, k) -> (m, k)>,
                       affine_map<(m, b, n, k) -> (b, k, n)>,
                       affine_map<(m, b, n, k) -> (m, b, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%wx, %wide : tensor<16x64xi32>, tensor<6x64x16xi32>)
      outs(%start : tensor<16x6x16xi32>) {
  ^bb0(%a: i32, %b: i32, %sum: i32):
    %p = arith.muli %a, %b : i32
    %s = arith.addi %sum, %p : i32
    linalg.yield %s : i32
  } -> tensor<16x6x16xi32>
  return %r : tensor<16x6x16xi32>
}

// Bytes that an instruction multiplies at once and that are neighbours are
// read where they are, whatever the number of rows.
// VNNI-LABEL: func.func @neighbours
// VNNI-NOT: memref.alloc() {{.*}}xi32
// VNNI: scf.for {{.*}} iter_args
// VNNI-COUNT-3: vector.load {{.*}}, vector<64xi8>
// VNNI-NOT: vector.shuffle
// VNNI-COUNT-24: vpdpbusd
// VNNI: scf.yield
// TILES-LABEL: func.func @neighbours
// TILES: memref.alloc() {{.*}} : memref<2048xi8>
// TILES-NOT: vpermb
// TILES-COUNT-4: llvm.call_intrinsic "llvm.x86.tileloadd64.internal"
// TILES: llvm.call_intrinsic "llvm.x86.tilestored64.internal"
// TILES-NOT: linalg
func.func @neighbours(%x: tensor<24x16x4xi8>, %w: tensor<6x16x16x4xi8>,
                      %c: tensor<24x6x16xi32>) -> tensor<24x6x16xi32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : i32
  %ex = tensor.empty() : tensor<24x16x4xi32>
  %wx = linalg.generic {
      indexing_maps = [affine_map<(m, k, i) -> (m, k, i)>,
                       affine_map<(m, k, i) -> (m, k, i)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<24x16x4xi8>) outs(%ex : tensor<24x16x4xi32>) {
  ^bb0(%a: i8, %old: i32):
    %y = arith.extui %a : i8 to i32
    linalg.yield %y : i32
  } -> tensor<24x16x4xi32>
  %e = tensor.empty() : tensor<6x16x16x4xi32>
  %wide = linalg.generic {
      indexing_maps = [affine_map<(b, k, n, i) -> (b, k, n, i)>,
                       affine_map<(b, k, n, i) -> (b, k, n, i)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%w : tensor<6x16x16x4xi8>) outs(%e : tensor<6x16x16x4xi32>) {
  ^bb0(%a: i8, %old: i32):
    %y = arith.extsi %a : i8 to i32
    linalg.yield %y : i32
  } -> tensor<6x16x16x4xi32>
  %start = linalg.fill ins(%zero : i32) outs(%c : tensor<24x6x16xi32>)
      -> tensor<24x6x16xi32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(m, b, n, k, i) -> (m, k, i)>,
                       affine_map<(m, b, n, k, i) -> (b, k, n, i)>,
                       affine_map<(m, b, n, k, i) -> (m, b, n)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction",
                        "reduction"]}
      ins(%wx, %wide : tensor<24x16x4xi32>, tensor<6x16x16x4xi32>)
      outs(%start : tensor<24x6x16xi32>) {
  ^bb0(%a: i32, %b: i32, %sum: i32):
    %p = arith.muli %a, %b : i32
    %s = arith.addi %sum, %p : i32
    linalg.yield %s : i32
  } -> tensor<24x6x16xi32>
  return %r : tensor<24x6x16xi32>
}
