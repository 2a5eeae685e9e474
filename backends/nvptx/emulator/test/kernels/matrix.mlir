// SPDX-License-Identifier: Apache-2.0
//
// matrix.mlir: products that MLIR's own lowerings spread over lanes (mma.sync,
// ldmatrix): a source of lane layouts that is not ours. c += a * b; f16, i8, f64
// and tf32 have b transposed, `shared` has it as it is.
#map0 = affine_map<(d0, d1) -> (d1, d0)>
#mapA = affine_map<(m, n, k) -> (m, k)>
#mapB = affine_map<(m, n, k) -> (n, k)>
#mapC = affine_map<(m, n, k) -> (m, n)>
module attributes {gpu.container_module} {
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  gpu.func @f16(%a: memref<16x16xf16>, %b: memref<8x16xf16>, %c: memref<16x8xf16>) kernel {
    %z = arith.constant 0.0 : f16
    %i = arith.constant 0 : index
    %x = vector.transfer_read %a[%i, %i], %z {in_bounds = [true, true]} : memref<16x16xf16>, vector<16x16xf16>
    %y = vector.transfer_read %b[%i, %i], %z {in_bounds = [true, true]} : memref<8x16xf16>, vector<8x16xf16>
    %w = vector.transfer_read %c[%i, %i], %z {in_bounds = [true, true]} : memref<16x8xf16>, vector<16x8xf16>
    %d = vector.contract {indexing_maps = [#mapA, #mapB, #mapC], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %w : vector<16x16xf16>, vector<8x16xf16> into vector<16x8xf16>
    vector.transfer_write %d, %c[%i, %i] {in_bounds = [true, true]} : vector<16x8xf16>, memref<16x8xf16>
    gpu.return
  }
  gpu.func @shared(%a: memref<16x16xf16>, %b: memref<16x8xf16>, %c: memref<16x8xf16>)
      workgroup(%sa: memref<16x16xf16, #gpu.address_space<workgroup>>, %sb: memref<16x8xf16, #gpu.address_space<workgroup>>) kernel {
    %z = arith.constant 0.0 : f16
    %i = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    %c256 = arith.constant 256 : index
    %c16 = arith.constant 16 : index
    %c8 = arith.constant 8 : index
    %t = gpu.thread_id x
    scf.for %e = %t to %c256 step %c32 {
      %row = affine.apply affine_map<(e) -> (e floordiv 16)>(%e)
      %col = affine.apply affine_map<(e) -> (e mod 16)>(%e)
      %p = memref.load %a[%row, %col] : memref<16x16xf16>
      memref.store %p, %sa[%row, %col] : memref<16x16xf16, #gpu.address_space<workgroup>>
    }
    %c128 = arith.constant 128 : index
    scf.for %e = %t to %c128 step %c32 {
      %row = affine.apply affine_map<(e) -> (e floordiv 8)>(%e)
      %col = affine.apply affine_map<(e) -> (e mod 8)>(%e)
      %p = memref.load %b[%row, %col] : memref<16x8xf16>
      memref.store %p, %sb[%row, %col] : memref<16x8xf16, #gpu.address_space<workgroup>>
    }
    gpu.barrier
    %x = vector.transfer_read %sa[%i, %i], %z {in_bounds = [true, true]} : memref<16x16xf16, #gpu.address_space<workgroup>>, vector<16x16xf16>
    %y = vector.transfer_read %sb[%i, %i], %z {in_bounds = [true, true], permutation_map = #map0} : memref<16x8xf16, #gpu.address_space<workgroup>>, vector<8x16xf16>
    %w = vector.transfer_read %c[%i, %i], %z {in_bounds = [true, true]} : memref<16x8xf16>, vector<16x8xf16>
    %d = vector.contract {indexing_maps = [#mapA, #mapB, #mapC], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %w : vector<16x16xf16>, vector<8x16xf16> into vector<16x8xf16>
    vector.transfer_write %d, %c[%i, %i] {in_bounds = [true, true]} : vector<16x8xf16>, memref<16x8xf16>
    gpu.return
  }
  gpu.func @i8(%a: memref<16x32xi8>, %b: memref<8x32xi8>, %c: memref<16x8xi32>) kernel {
    %z = arith.constant 0 : i8
    %z32 = arith.constant 0 : i32
    %i = arith.constant 0 : index
    %x = vector.transfer_read %a[%i, %i], %z {in_bounds = [true, true]} : memref<16x32xi8>, vector<16x32xi8>
    %y = vector.transfer_read %b[%i, %i], %z {in_bounds = [true, true]} : memref<8x32xi8>, vector<8x32xi8>
    %w = vector.transfer_read %c[%i, %i], %z32 {in_bounds = [true, true]} : memref<16x8xi32>, vector<16x8xi32>
    %d = vector.contract {indexing_maps = [#mapA, #mapB, #mapC], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %w : vector<16x32xi8>, vector<8x32xi8> into vector<16x8xi32>
    vector.transfer_write %d, %c[%i, %i] {in_bounds = [true, true]} : vector<16x8xi32>, memref<16x8xi32>
    gpu.return
  }
  gpu.func @f64(%a: memref<8x4xf64>, %b: memref<8x4xf64>, %c: memref<8x8xf64>) kernel {
    %z = arith.constant 0.0 : f64
    %i = arith.constant 0 : index
    %x = vector.transfer_read %a[%i, %i], %z {in_bounds = [true, true]} : memref<8x4xf64>, vector<8x4xf64>
    %y = vector.transfer_read %b[%i, %i], %z {in_bounds = [true, true]} : memref<8x4xf64>, vector<8x4xf64>
    %w = vector.transfer_read %c[%i, %i], %z {in_bounds = [true, true]} : memref<8x8xf64>, vector<8x8xf64>
    %d = vector.contract {indexing_maps = [#mapA, #mapB, #mapC], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %w : vector<8x4xf64>, vector<8x4xf64> into vector<8x8xf64>
    vector.transfer_write %d, %c[%i, %i] {in_bounds = [true, true]} : vector<8x8xf64>, memref<8x8xf64>
    gpu.return
  }
  gpu.func @tf32(%a: memref<16x8xf32>, %b: memref<8x8xf32>, %c: memref<16x8xf32>) kernel {
    %z = arith.constant 0.0 : f32
    %i = arith.constant 0 : index
    %x = vector.transfer_read %a[%i, %i], %z {in_bounds = [true, true]} : memref<16x8xf32>, vector<16x8xf32>
    %y = vector.transfer_read %b[%i, %i], %z {in_bounds = [true, true]} : memref<8x8xf32>, vector<8x8xf32>
    %w = vector.transfer_read %c[%i, %i], %z {in_bounds = [true, true]} : memref<16x8xf32>, vector<16x8xf32>
    %d = vector.contract {indexing_maps = [#mapA, #mapB, #mapC], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %w : vector<16x8xf32>, vector<8x8xf32> into vector<16x8xf32>
    vector.transfer_write %d, %c[%i, %i] {in_bounds = [true, true]} : vector<16x8xf32>, memref<16x8xf32>
    gpu.return
  }
}
}
