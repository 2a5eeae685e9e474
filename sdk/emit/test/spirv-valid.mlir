// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-per-element -bp-bufferize -bp-expand-math -bp-to-gpu-entry -bp-to-spirv | sed -n '/spirv.module/,/^  }/p' > %t.mlir
// RUN: mlir-translate --no-implicit-module --serialize-spirv %t.mlir -o %t.spv
// RUN: spirv-val --target-env vulkan1.1 %t.spv

// A module with loops, tables, all widths of elements, an error word and
// functions is one that Vulkan takes.
func.func @mixed(%x: tensor<?x6xf16> {bp.dims = ["n", "6"]},
                 %y: tensor<6xf64>, %z: tensor<6xi8>, %w: tensor<6xi64>,
                 %out: tensor<?xf32> {bp.dims = ["n"]}, %n: index,
                 %error: memref<1xi32>) -> tensor<?xf32>
    attributes {bp.inputs = 4 : i64, bp.outputs = 1 : i64, bp.symbols = ["n"],
                bp.error} {
  %zero = arith.constant 0.0 : f32
  %table = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<6xbf16>
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x, %y, %z, %w, %table : tensor<?x6xf16>, tensor<6xf64>, tensor<6xi8>, tensor<6xi64>, tensor<6xbf16>)
      outs(%f : tensor<?xf32>) {
  ^bb0(%a: f16, %b: f64, %c: i8, %d: i64, %g: bf16, %o: f32):
    %a32 = arith.extf %a : f16 to f32
    %a64 = arith.extf %a32 : f32 to f64
    %b1 = math.log %b : f64
    %b2 = arith.mulf %b1, %a64 : f64
    %b32 = arith.truncf %b2 : f64 to f32
    %c32 = arith.sitofp %c : i8 to f32
    %c1 = math.tanh %c32 : f32
    %i0 = arith.constant 0 : index
    %l0 = arith.constant 0 : i64
    %bad = arith.cmpi slt, %d, %l0 : i64
    scf.if %bad {
      %code = arith.constant 16777216 : i32
      memref.store %code, %error[%i0] : memref<1xi32>
    }
    %d32 = arith.sitofp %d : i64 to f32
    %g32 = arith.extf %g : bf16 to f32
    %1 = arith.addf %b32, %c1 : f32
    %2 = arith.maximumf %1, %d32 : f32
    %3 = arith.mulf %2, %g32 : f32
    %4 = arith.addf %o, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%s : tensor<?xf32>) outs(%out : tensor<?xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = math.exp %v : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
