// SPDX-License-Identifier: Apache-2.0
// REQUIRES: spirv-val-matrices
// Products of each kind are modules that Vulkan takes.
// DEFINE: %{a} = i, m, k
// DEFINE: %{ta} = 2x128x64
// DEFINE: %{b} = i, k, n
// DEFINE: %{tb} = 2x64x128
// DEFINE: %{tc} = 2x128x128
// DEFINE: %{make} = sed -e 's/(A)/(%{a})/; s/(B)/(%{b})/; s/TA/%{ta}/g; s/TB/%{tb}/g; s/TC/%{tc}/g' %s | bp-opt -bp-bind-buffers -bp-gpu-contract=matrix-unit=gpu -bp-per-element -bp-bufferize -bp-expand-math -bp-to-gpu-entry -bp-to-spirv | sed -n '/spirv.module/,/^  }/p'
// DEFINE: %{check} = %{make} > %t.mlir && FileCheck %s < %t.mlir && mlir-translate --no-implicit-module --serialize-spirv %t.mlir -o %t.spv && %{spirv-val-matrices} --target-env vulkan1.3 %t.spv

// RUN: %{check}
// RUN: FileCheck %s --check-prefix=VEC4 < %t.mlir
// Both factors transposed.
// REDEFINE: %{a} = i, k, m
// REDEFINE: %{ta} = 2x64x128
// REDEFINE: %{b} = i, n, k
// REDEFINE: %{tb} = 2x128x64
// RUN: %{check}
// Nothing is a multiple of anything.
// REDEFINE: %{a} = i, m, k
// REDEFINE: %{ta} = 3x65x35
// REDEFINE: %{tb} = 3x67x35
// REDEFINE: %{tc} = 3x65x67
// RUN: %{check}
// RUN: FileCheck %s --check-prefix=SINGLE < %t.mlir
// Many tiles of the largest size.
// REDEFINE: %{ta} = 1x2048x512
// REDEFINE: %{b} = i, k, n
// REDEFINE: %{tb} = 1x512x2048
// REDEFINE: %{tc} = 1x2048x2048
// RUN: %{check}
// Few rows.
// REDEFINE: %{ta} = 1x5x512
// REDEFINE: %{tc} = 1x5x2048
// RUN: %{check}

// Memory of the work-group is shared by what Vulkan's model calls it: accesses
// that are not private, and barriers that show them. Bindings are private.
// CHECK: spirv.module Logical Vulkan requires #spirv.vce<v1.3, [{{.*}}CooperativeMatrixKHR{{.*}}], [{{.*}}SPV_KHR_cooperative_matrix{{.*}}]>
// CHECK: spirv.GlobalVariable @shared{{.*}} : !spirv.ptr<!spirv.array<{{[0-9]+}} x i32>, Workgroup>
// CHECK: spirv.Load "StorageBuffer" %{{[0-9]+}} : {{i16|vector<4xi16>}}
// CHECK: spirv.Store "Workgroup" {{.*}} ["NonPrivatePointer"] : i32
// CHECK: spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|WorkgroupMemory|MakeAvailable|MakeVisible>
// CHECK: spirv.KHR.CooperativeMatrixLoad {{.*}}, <NonPrivatePointer> : !spirv.ptr<i32, Workgroup>, i32 -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixA>
// CHECK: spirv.KHR.CooperativeMatrixLoad {{.*}}, <NonPrivatePointer> : !spirv.ptr<i32, Workgroup>, i32 -> !spirv.coopmatrix<16x16xf16, Subgroup, MatrixB>
// CHECK: spirv.KHR.CooperativeMatrixMulAdd
// CHECK: spirv.KHR.CooperativeMatrixStore {{.*}}, <RowMajor>, <NonPrivatePointer>
// CHECK: spirv.Load "Workgroup" %{{[0-9]+}} ["NonPrivatePointer"] : i32

// Neighbours are read and stored four at once.
// VEC4-COUNT-4: spirv.Load "StorageBuffer" %{{[0-9]+}} : vector<4xi16>
// VEC4: spirv.Store "StorageBuffer" %{{.*}} : vector<4xi16>
// SINGLE-NOT: vector<4xi16>
#a = affine_map<(i, m, n, k) -> (A)>
#b = affine_map<(i, m, n, k) -> (B)>
#c = affine_map<(i, m, n, k) -> (i, m, n)>
#e = affine_map<(i, m, n) -> (i, m, n)>
module attributes {bp.target = {max_shared_bytes = 49152 : i64, matrix_shapes.f16 = array<i64: 16, 16, 16>}} {
func.func @product(%a: tensor<TAxf16>, %b: tensor<TBxf16>, %out: tensor<TCxf16>)
    -> tensor<TCxf16> attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<TCxf32>
  %f = linalg.fill ins(%zero : f32) outs(%empty : tensor<TCxf32>) -> tensor<TCxf32>
  %c = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%a, %b : tensor<TAxf16>, tensor<TBxf16>) outs(%f : tensor<TCxf32>) {
  ^bb0(%x: f16, %y: f16, %s: f32):
    %u = arith.extf %x : f16 to f32
    %v = arith.extf %y : f16 to f32
    %p = arith.mulf %u, %v : f32
    %t = arith.addf %s, %p : f32
    linalg.yield %t : f32
  } -> tensor<TCxf32>
  %r = linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel", "parallel"]} ins(%c : tensor<TCxf32>) outs(%out : tensor<TCxf16>) {
  ^bb0(%v: f32, %o: f16):
    %m = arith.maximumf %v, %zero : f32
    %h = arith.truncf %m : f32 to f16
    linalg.yield %h : f16
  } -> tensor<TCxf16>
  return %r : tensor<TCxf16>
}
}
