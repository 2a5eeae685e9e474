// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-contract=vector-bits=512 | FileCheck %s
// RUN: bp-opt %s -bp-bind-buffers -bp-contract=vector-bits=256 | FileCheck %s --check-prefix=FEW

// A weight in blocks of eight outputs: two blocks are one loop over rows of A,
// which are read where they are, the elements of a column side by side. The
// last panel of B has one vector where others have three.
// CHECK-LABEL: func.func @blocks
// CHECK: %[[W:.*]] = memref.collapse_shape %arg1
// CHECK: scf.for {{.*}} iter_args
// CHECK: memref.prefetch %[[W]]
// CHECK: memref.load %[[W]]
// CHECK-COUNT-24: math.fma {{.*}} : vector<16xf32>
// CHECK: scf.for {{.*}} iter_args
// CHECK-COUNT-8: math.fma {{.*}} : vector<16xf32>
// CHECK-NOT: math.fma
// CHECK-NOT: linalg
// A vector of pixels whose lanes are neighbours is one load, any other one for
// each run of them. Sums, a row of B and an element of A fill 16 registers. The
// last panel has one column: its mask is known.
// FEW-LABEL: func.func @blocks
// FEW: scf.if {{.*}} -> (vector<8xf32>)
// FEW-NEXT: arith.addi
// FEW-NEXT: vector.load
// FEW-NEXT: scf.yield
// FEW-NEXT: } else {
// FEW-COUNT-2: vector.maskedload
// FEW: %{{.*}}:12 = scf.for {{.*}} iter_args
// FEW-COUNT-12: math.fma {{.*}} : vector<8xf32>
// FEW: %{{.*}}:4 = scf.for {{.*}} iter_args
// FEW-COUNT-4: math.fma {{.*}} : vector<8xf32>
// FEW-NOT: math.fma
// FEW-NOT: vector.create_mask
// FEW: vector.constant_mask [1] : vector<8xi1>
func.func @blocks(%x: tensor<1x4x9x9xf32>, %w: tensor<2x3x3x4x8xf32>,
                  %c: tensor<1x2x8x7x7xf32>) -> tensor<1x2x8x7x7xf32>
    attributes {bp.inputs = 2 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %start = linalg.fill ins(%zero : f32) outs(%c : tensor<1x2x8x7x7xf32>)
      -> tensor<1x2x8x7x7xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(n, b, o, y, x, c, ky, kx) -> (b, ky, kx, c, o)>,
                       affine_map<(n, b, o, y, x, c, ky, kx) -> (n, c, y + ky, x + kx)>,
                       affine_map<(n, b, o, y, x, c, ky, kx) -> (n, b, o, y, x)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel",
                        "parallel", "reduction", "reduction", "reduction"]}
      ins(%w, %x : tensor<2x3x3x4x8xf32>, tensor<1x4x9x9xf32>)
      outs(%start : tensor<1x2x8x7x7xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x2x8x7x7xf32>
  return %r : tensor<1x2x8x7x7xf32>
}
