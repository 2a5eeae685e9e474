// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=512 intrinsics=llvm.x86.avx512 products=pmadd" -split-input-file | FileCheck %s
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=256 intrinsics=llvm.x86.avx2 products=pmadd" -split-input-file | FileCheck %s --check-prefix=AVX2
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=512 intrinsics=llvm.x86.avx512 products=dpbusd,dpwssd" -split-input-file | FileCheck %s --check-prefix=VNNI
// RUN: bp-opt %s -bp-bind-buffers "-bp-contract=vector-bits=512 intrinsics=llvm.x86.avx512 products=tdpb,dpbusd,dpwssd" -split-input-file | FileCheck %s --check-prefix=TILES

#id = affine_map<(d0, d1) -> (d0, d1)>

// Bytes of two signs: pairs of 16 bits, neighbours in k, or four bytes where
// an instruction multiplies them, the unsigned ones first.
// CHECK-LABEL: func.func @mixed
// CHECK: vector.interleave {{.*}} : vector<16xi8> -> vector<32xi8>
// CHECK: arith.extui {{.*}} : vector<32xi8> to vector<32xi16>
// CHECK: arith.extsi {{.*}} : vector<16xi8> to vector<16xi16>
// CHECK: %[[PRODUCTS:.*]] = llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"
// CHECK: arith.addi {{.*}}, %[[PRODUCTS]] : vector<16xi32>
// CHECK-NOT: linalg
// AVX2-LABEL: func.func @mixed
// AVX2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"{{.*}} -> vector<8xi32>
// VNNI-LABEL: func.func @mixed
// VNNI: vector.load {{.*}} : memref<{{.*}}xi8>, vector<4xi8>
// VNNI: %[[A:.*]] = vector.bitcast {{.*}} : vector<16xi32> to vector<64xi8>
// VNNI: %[[B:.*]] = vector.bitcast {{.*}} : vector<16xi32> to vector<64xi8>
// VNNI: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%{{.*}}, %[[B]], %[[A]])
// VNNI-NOT: linalg
// Sixteen rows at a time, whose bytes beyond k are zero.
// TILES-LABEL: func.func @mixed
// TILES: memref.alloc() {{.*}} : memref<2048xi8>
// TILES-COUNT-4: llvm.call_intrinsic "llvm.x86.tilezero.internal"
// TILES: llvm.call_intrinsic "llvm.x86.tileloadd64.internal"
// TILES: llvm.call_intrinsic "llvm.x86.tdpbsud.internal"
// TILES: llvm.call_intrinsic "llvm.x86.tilestored64.internal"
// TILES-NOT: linalg
func.func @mixed(%a: tensor<32x34xi8>, %b: tensor<34x64xi8>,
                 %c: tensor<32x64xi32>) -> tensor<32x64xi32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : i32
  %ea = tensor.empty() : tensor<32x34xi32>
  %wa = linalg.generic {indexing_maps = [#id, #id],
                        iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<32x34xi8>) outs(%ea : tensor<32x34xi32>) {
  ^bb0(%x: i8, %old: i32):
    %y = arith.extsi %x : i8 to i32
    linalg.yield %y : i32
  } -> tensor<32x34xi32>
  %eb = tensor.empty() : tensor<34x64xi32>
  %wb = linalg.generic {indexing_maps = [#id, #id],
                        iterator_types = ["parallel", "parallel"]}
      ins(%b : tensor<34x64xi8>) outs(%eb : tensor<34x64xi32>) {
  ^bb0(%x: i8, %old: i32):
    %y = arith.extui %x : i8 to i32
    linalg.yield %y : i32
  } -> tensor<34x64xi32>
  %start = linalg.fill ins(%zero : i32) outs(%c : tensor<32x64xi32>)
      -> tensor<32x64xi32>
  %r = linalg.matmul ins(%wa, %wb : tensor<32x34xi32>, tensor<34x64xi32>)
      outs(%start : tensor<32x64xi32>) -> tensor<32x64xi32>
  return %r : tensor<32x64xi32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// No instruction multiplies bytes of one sign.
// VNNI-LABEL: func.func @signed
// VNNI: vector.interleave {{.*}} : vector<16xi8> -> vector<32xi8>
// VNNI: llvm.call_intrinsic "llvm.x86.avx512.vpdpwssd.512"
// VNNI-NOT: arith.addi {{.*}} vector<16xi32>
func.func @signed(%a: tensor<32x34xi8>, %b: tensor<34x64xi8>,
                  %c: tensor<32x64xi32>) -> tensor<32x64xi32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : i32
  %ea = tensor.empty() : tensor<32x34xi32>
  %wa = linalg.generic {indexing_maps = [#id, #id],
                        iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<32x34xi8>) outs(%ea : tensor<32x34xi32>) {
  ^bb0(%x: i8, %old: i32):
    %y = arith.extsi %x : i8 to i32
    linalg.yield %y : i32
  } -> tensor<32x34xi32>
  %eb = tensor.empty() : tensor<34x64xi32>
  %wb = linalg.generic {indexing_maps = [#id, #id],
                        iterator_types = ["parallel", "parallel"]}
      ins(%b : tensor<34x64xi8>) outs(%eb : tensor<34x64xi32>) {
  ^bb0(%x: i8, %old: i32):
    %y = arith.extsi %x : i8 to i32
    linalg.yield %y : i32
  } -> tensor<34x64xi32>
  %start = linalg.fill ins(%zero : i32) outs(%c : tensor<32x64xi32>)
      -> tensor<32x64xi32>
  %r = linalg.matmul ins(%wa, %wb : tensor<32x34xi32>, tensor<34x64xi32>)
      outs(%start : tensor<32x64xi32>) -> tensor<32x64xi32>
  return %r : tensor<32x64xi32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// Few rows pass over those of a B that no near cache holds: its bytes are
// paired on the way, and nothing is packed.
// AVX2-LABEL: func.func @few_rows
// AVX2-NOT: memref.alloc{{.*}}xi8>
// AVX2: vector.interleave {{.*}} : vector<8xi8> -> vector<16xi8>
// AVX2: arith.extsi {{.*}} : vector<16xi8> to vector<16xi16>
// AVX2: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// AVX2-NOT: arith.muli {{.*}} : vector<8xi32>
// VNNI-LABEL: func.func @few_rows
// VNNI: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
func.func @few_rows(%a: tensor<7x64xi8>, %b: tensor<64x40000xi8>,
                    %c: tensor<7x40000xi32>) -> tensor<7x40000xi32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0 : i32
  %ea = tensor.empty() : tensor<7x64xi32>
  %wa = linalg.generic {indexing_maps = [#id, #id],
                        iterator_types = ["parallel", "parallel"]}
      ins(%a : tensor<7x64xi8>) outs(%ea : tensor<7x64xi32>) {
  ^bb0(%x: i8, %old: i32):
    %y = arith.extui %x : i8 to i32
    linalg.yield %y : i32
  } -> tensor<7x64xi32>
  %eb = tensor.empty() : tensor<64x40000xi32>
  %wb = linalg.generic {indexing_maps = [#id, #id],
                        iterator_types = ["parallel", "parallel"]}
      ins(%b : tensor<64x40000xi8>) outs(%eb : tensor<64x40000xi32>) {
  ^bb0(%x: i8, %old: i32):
    %y = arith.extsi %x : i8 to i32
    linalg.yield %y : i32
  } -> tensor<64x40000xi32>
  %start = linalg.fill ins(%zero : i32) outs(%c : tensor<7x40000xi32>)
      -> tensor<7x40000xi32>
  %r = linalg.matmul ins(%wa, %wb : tensor<7x64xi32>, tensor<64x40000xi32>)
      outs(%start : tensor<7x40000xi32>) -> tensor<7x40000xi32>
  return %r : tensor<7x40000xi32>
}
