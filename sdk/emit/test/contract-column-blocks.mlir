// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-contract=vector-bits=256 | FileCheck %s
// RUN: bp-opt %s -bp-bind-buffers -bp-contract=vector-bits=512 | FileCheck %s --check-prefix=WIDE

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
