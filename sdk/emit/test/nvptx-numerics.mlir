// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-to-gpu-entry -bp-to-nvvm | sed 's/^module attributes .*/module {/' | mlir-translate --mlir-to-llvmir -o %t.ll
// RUN: llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_80 -mattr=+ptx78 %t.ll -o %t.ptx
// RUN: FileCheck %s < %t.ptx
// RUN: FileCheck %s --check-prefix=NOT < %t.ptx

// Every operation rounds to nearest, a product and a sum are two roundings, NaN
// wins, and nothing is flushed or handed to a library.
// CHECK: .entry numbers(
// CHECK: .reqntid 128
// CHECK-DAG: mul.rn.f32
// CHECK-DAG: add.rn.f32
// CHECK-DAG: fma.rn.f32
// CHECK-DAG: div.rn.f32
// CHECK-DAG: sqrt.rn.f32
// CHECK-DAG: max.NaN.f32
// CHECK-DAG: min.NaN.f32
// CHECK-DAG: cvt.rn.f16.f32
// CHECK-DAG: cvt.rn.bf16.f32
// NOT-NOT: .ftz
// NOT-NOT: .approx
// NOT-NOT: .func
func.func @numbers(%x: memref<1024xf32>, %y: memref<1024xf32>,
                   %out: memref<1024xf32>, %half: memref<1024xf16>,
                   %brain: memref<1024xbf16>)
    attributes {bp.inputs = 2 : i64, bp.outputs = 3 : i64} {
  scf.forall (%i) in (1024) {
    %a = memref.load %x[%i] : memref<1024xf32>
    %b = memref.load %y[%i] : memref<1024xf32>
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %0, %b : f32
    %2 = math.fma %1, %a, %b : f32
    %3 = arith.divf %2, %a : f32
    %4 = math.sqrt %3 : f32
    %5 = arith.maximumf %4, %a : f32
    %6 = arith.minimumf %5, %b : f32
    memref.store %6, %out[%i] : memref<1024xf32>
    %h = arith.truncf %6 : f32 to f16
    memref.store %h, %half[%i] : memref<1024xf16>
    %r = arith.truncf %6 : f32 to bf16
    memref.store %r, %brain[%i] : memref<1024xbf16>
  }
  return
}
