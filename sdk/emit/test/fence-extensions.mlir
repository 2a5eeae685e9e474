// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-vectorize=vector-bits=256 -split-input-file | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// What is compared as f32 stays f32.
// CHECK-LABEL: func.func @compared
// CHECK: %[[X:.*]] = arith.extf %{{.*}} : vector<8xf16> to vector<8xf32>
// CHECK: %[[W:.*]] = llvm.call_intrinsic "llvm.arithmetic.fence"(%[[X]])
// CHECK: math.absf %[[W]]
// CHECK: arith.cmpf oge, %[[W]]
func.func @compared(%x: memref<64xf16>, %o: memref<64xf16>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<64xf16>) outs(%o : memref<64xf16>) {
  ^bb0(%a: f16, %old: f16):
    %w = arith.extf %a : f16 to f32
    %p = math.absf %w : f32
    %c = arith.cmpf oge, %w, %zero : f32
    %s = arith.select %c, %p, %zero : f32
    %r = arith.truncf %s : f32 to f16
    linalg.yield %r : f16
  }
  return
}

// -----

#id = affine_map<(d0) -> (d0)>

// Where there is nothing to narrow, nothing is fenced.
// CHECK-LABEL: func.func @added
// CHECK-NOT: fence
func.func @added(%x: memref<64xf16>, %o: memref<64xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<64xf16>) outs(%o : memref<64xf32>) {
  ^bb0(%a: f16, %old: f32):
    %w = arith.extf %a : f16 to f32
    %s = arith.addf %w, %w : f32
    linalg.yield %s : f32
  }
  return
}
