// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --split-input-file --bp-outline-constants | FileCheck %s
// RUN: bp-opt %s --split-input-file --bp-outline-constants=keep-places | FileCheck %s --check-prefix=PLACES

// The transpose depends on a weight alone, what follows does not. A broadcast
// would only make data of it: it stays.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = bp.weight
// CHECK: %[[T:.*]] = call @fold_0(%[[W]])
// CHECK: bp.broadcast %[[T]]
// CHECK: bp.add
// CHECK: func.func @fold_0({{.*}}attributes {bp.fold
// CHECK-NEXT: bp.transpose
// CHECK-NEXT: return
func.func @main(%x: tensor<5x3x2xf32>) -> tensor<5x3x2xf32> {
  %w = bp.weight {id = "00000000000000000000000000000001", dtype = f32, dims = #bp.dims<["2", "3"]>} : () -> tensor<2x3xf32>
  %0 = bp.transpose %w {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = bp.broadcast %0 {dims = #bp.dims<["5", "3", "2"]>, axes = array<i64: 1, 2>} : (tensor<3x2xf32>) -> tensor<5x3x2xf32>
  %2 = bp.add %x, %1 : (tensor<5x3x2xf32>, tensor<5x3x2xf32>) -> tensor<5x3x2xf32>
  return %2 : tensor<5x3x2xf32>
}

// -----

// A reshape between two folded ops is folded with them.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[W:.*]] = bp.weight
// CHECK-NEXT: %[[T:.*]] = call @fold_0(%[[W]])
// CHECK-NEXT: return %[[T]]
func.func @main() -> tensor<6xf32> {
  %w = bp.weight {id = "00000000000000000000000000000001", dtype = f32, dims = #bp.dims<["2", "3"]>} : () -> tensor<2x3xf32>
  %0 = bp.neg %w : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = bp.reshape %0 {dims = #bp.dims<["6"]>} : (tensor<2x3xf32>) -> tensor<6xf32>
  %2 = bp.exp %1 : (tensor<6xf32>) -> tensor<6xf32>
  return %2 : tensor<6xf32>
}

// -----

// A reshape of a broadcast is not free: it is folded where both sides of it
// are, or the call would depend on itself.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[W:.*]] = bp.weight
// CHECK-NEXT: %[[T:.*]] = call @fold_0(%[[W]])
// CHECK-NEXT: return %[[T]]
// CHECK: func.func @fold_0
// CHECK: bp.exp
// CHECK: bp.broadcast
// CHECK: bp.reshape
// CHECK: bp.neg
func.func @main() -> tensor<6x3xf32> {
  %w = bp.weight {id = "00000000000000000000000000000001", dtype = f32, dims = #bp.dims<["2", "1", "3"]>} : () -> tensor<2x1x3xf32>
  %0 = bp.exp %w : (tensor<2x1x3xf32>) -> tensor<2x1x3xf32>
  %1 = bp.broadcast %0 {dims = #bp.dims<["2", "3", "3"]>, axes = array<i64: 0, 1, 2>} : (tensor<2x1x3xf32>) -> tensor<2x3x3xf32>
  %2 = bp.reshape %1 {dims = #bp.dims<["6", "3"]>} : (tensor<2x3x3xf32>) -> tensor<6x3xf32>
  %3 = bp.neg %2 : (tensor<6x3xf32>) -> tensor<6x3xf32>
  return %3 : tensor<6x3xf32>
}

// -----

// Where such a reshape grows too far to be folded, so does nothing behind it.
// CHECK-LABEL: func.func @main
// CHECK: call @fold_0
// CHECK: bp.broadcast
// CHECK: bp.reshape
// CHECK: bp.neg
// CHECK: func.func @fold_0
// CHECK-NEXT: bp.exp
// CHECK-NEXT: return
func.func @main() -> tensor<3000000xf32> {
  %w = bp.weight {id = "00000000000000000000000000000001", dtype = f32, dims = #bp.dims<["1", "3"]>} : () -> tensor<1x3xf32>
  %0 = bp.exp %w : (tensor<1x3xf32>) -> tensor<1x3xf32>
  %1 = bp.broadcast %0 {dims = #bp.dims<["1000000", "3"]>, axes = array<i64: 0, 1>} : (tensor<1x3xf32>) -> tensor<1000000x3xf32>
  %2 = bp.reshape %1 {dims = #bp.dims<["3000000"]>} : (tensor<1000000x3xf32>) -> tensor<3000000xf32>
  %3 = bp.neg %2 : (tensor<3000000xf32>) -> tensor<3000000xf32>
  return %3 : tensor<3000000xf32>
}

// -----

// What takes long is not computed while compiling, however small its result.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: bp.iota
// CHECK-NEXT: bp.reduce
// CHECK-NEXT: return
func.func @main() -> tensor<i64> {
  %0 = bp.iota {dtype = i64, dims = #bp.dims<["1073741824"]>, axis = 0 : i64} : () -> tensor<1073741824xi64>
  %1 = bp.reduce %0 {kind = "sum", axes = array<i64: 0>} : (tensor<1073741824xi64>) -> tensor<i64>
  return %1 : tensor<i64>
}

// -----

// A product counts its terms, a window its elements.
// CHECK-LABEL: func.func @main
// CHECK-NOT: call
// CHECK: return
func.func @main() -> (tensor<256x256xf32>, tensor<1x1x16385xf32>) {
  %w = bp.weight {id = "00000000000000000000000000000001", dtype = f32, dims = #bp.dims<["1"]>} : () -> tensor<1xf32>
  %a = bp.broadcast %w {dims = #bp.dims<["256", "65536"]>, axes = array<i64: 1>} : (tensor<1xf32>) -> tensor<256x65536xf32>
  %0 = bp.matmul %a, %a {transpose_b = true} : (tensor<256x65536xf32>, tensor<256x65536xf32>) -> tensor<256x256xf32>
  %x = bp.broadcast %w {dims = #bp.dims<["1", "1", "32768"]>, axes = array<i64: 2>} : (tensor<1xf32>) -> tensor<1x1x32768xf32>
  %1 = bp.pool %x {kind = "sum", window = array<i64: 16384>, strides = array<i64: 1>, dilations = array<i64: 1>, low = array<i64: 0>, high = array<i64: 0>} : (tensor<1x1x32768xf32>) -> tensor<1x1x16385xf32>
  return %0, %1 : tensor<256x256xf32>, tensor<1x1x16385xf32>
}

// -----

// A mask of places is data like any other, unless the target makes it where it
// needs it. A small one is not worth that.
// CHECK-LABEL: func.func @main
// CHECK-NOT: bp.compare
// CHECK: return
// PLACES-LABEL: func.func @main
// PLACES: bp.compare {{.*}} tensor<128x128xi1>
// PLACES-NOT: bp.compare
// PLACES: return
func.func @main() -> (tensor<128x128xi1>, tensor<8x8xi1>) {
  %row = bp.iota {dims = #bp.dims<["128", "128"]>, dtype = i64} : () -> tensor<128x128xi64>
  %column = bp.iota {axis = 1 : i64, dims = #bp.dims<["128", "128"]>, dtype = i64} : () -> tensor<128x128xi64>
  %sees = bp.compare %column, %row {direction = "le"} : (tensor<128x128xi64>, tensor<128x128xi64>) -> tensor<128x128xi1>
  %r = bp.iota {dims = #bp.dims<["8", "8"]>, dtype = i64} : () -> tensor<8x8xi64>
  %c = bp.iota {axis = 1 : i64, dims = #bp.dims<["8", "8"]>, dtype = i64} : () -> tensor<8x8xi64>
  %few = bp.compare %c, %r {direction = "le"} : (tensor<8x8xi64>, tensor<8x8xi64>) -> tensor<8x8xi1>
  return %sees, %few : tensor<128x128xi1>, tensor<8x8xi1>
}
