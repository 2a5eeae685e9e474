// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-to-gpu-entry -bp-to-nvvm -split-input-file | FileCheck %s

// The parameters are a pointer for each binding, the error word, scratch, then
// the constants.
// CHECK-LABEL: llvm.func @halves(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64}, %[[Y:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64}, %[[OUT:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 16 : i64}, %{{[a-z0-9]+}}: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{[a-z0-9]+}}: !llvm.ptr<1> {llvm.align = 16 : i64}, %[[N:[a-z0-9]+]]: i32)
// CHECK-SAME: nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>
// CHECK: llvm.zext %[[N]] : i32 to i64
// CHECK: %[[A:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> f16
// CHECK: %[[B:.*]] = llvm.load %{{.*}} : !llvm.ptr<1> -> bf16
// CHECK: llvm.fpext %[[A]] : f16 to f32
// CHECK: llvm.fpext %[[B]] : bf16 to f32
// CHECK: llvm.fadd {{.*}} : f32
func.func @halves(%x: memref<?xf16> {bp.dims = ["n"]},
                  %y: memref<?xbf16> {bp.dims = ["n"]},
                  %out: memref<?xf32> {bp.dims = ["n"]}, %n: index)
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64, bp.symbols = ["n"]} {
  scf.forall (%i) in (%n) {
    %a = memref.load %x[%i] : memref<?xf16>
    %b = memref.load %y[%i] : memref<?xbf16>
    %c = arith.extf %a : f16 to f32
    %d = arith.extf %b : bf16 to f32
    %e = arith.addf %c, %d : f32
    memref.store %e, %out[%i] : memref<?xf32>
  }
  return
}

// -----

// Bad data set the error word, which lies behind the bindings. Names of tables
// begin with the kernel's.
// CHECK: llvm.mlir.global internal constant @pick_table0(dense<[1, 2, 3, 5]> : tensor<4xi32>) {addr_space = 1 : i32, alignment = 16 : i64}
// CHECK-LABEL: llvm.func @pick(
// CHECK-SAME: %{{[a-z0-9]+}}: !llvm.ptr<1> {{[^)]*}}, %{{[a-z0-9]+}}: !llvm.ptr<1> {{[^)]*}}, %[[ERROR:[a-z0-9]+]]: !llvm.ptr<1> {llvm.align = 4 : i64}, %{{[a-z0-9]+}}: !llvm.ptr<1> {llvm.align = 16 : i64})
// CHECK: llvm.getelementptr inbounds %[[ERROR]][
memref.global "private" constant @primes : memref<4xi32> = dense<[1, 2, 3, 5]>
func.func @pick(%at: memref<8xi64>, %out: memref<8xi32>, %error: memref<1xi32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64, bp.error} {
  scf.forall (%i) in (8) {
    %zero = arith.constant 0 : index
    %table = memref.get_global @primes : memref<4xi32>
    %a = memref.load %at[%i] : memref<8xi64>
    %k = arith.index_cast %a : i64 to index
    %four = arith.constant 4 : index
    %bad = arith.cmpi uge, %k, %four : index
    %safe = arith.select %bad, %zero, %k : index
    scf.if %bad {
      %code = arith.constant 16777216 : i32
      memref.store %code, %error[%zero] : memref<1xi32>
    }
    %v = memref.load %table[%safe] : memref<4xi32>
    memref.store %v, %out[%i] : memref<8xi32>
  }
  return
}
