// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-to-gpu-entry -bp-to-nvvm | sed 's/^module attributes .*/module {/' | mlir-translate --mlir-to-llvmir | opt -O3 -mtriple=nvptx64-nvidia-cuda -S -o %t.ll
// RUN: llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_80 -mattr=+ptx78 %t.ll -o - | FileCheck %s

// All 64 bits of the distance are compared: 2^32 shifts everything out.
// CHECK: setp.lt.u64 %[[IN:p[0-9]+]], %{{rd[0-9]+}}, 64;
// CHECK: shl.b64 %[[SHIFTED:rd[0-9]+]],
// CHECK: selp.b64 %{{rd[0-9]+}}, %[[SHIFTED]], 0, %[[IN]];
func.func @shift(%x: memref<256xi64>, %y: memref<256xi64>,
                 %out: memref<256xi64>)
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  scf.forall (%i) in (256) {
    %a = memref.load %x[%i] : memref<256xi64>
    %b = memref.load %y[%i] : memref<256xi64>
    %zero = arith.constant 0 : i64
    %width = arith.constant 64 : i64
    %in = arith.cmpi ult, %b, %width : i64
    %far = arith.select %in, %b, %zero : i64
    %shifted = arith.shli %a, %far : i64
    %c = arith.select %in, %shifted, %zero : i64
    memref.store %c, %out[%i] : memref<256xi64>
  }
  return
}
