// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-expand-math | FileCheck %s
// RUN: bp-opt %s --bp-expand-math=scale-instruction=true | FileCheck %s --check-prefix=SCALE

// Nothing is left that would need a library.
// CHECK-NOT: math.{{exp|expm1|log|log1p|a?sinh?|a?cosh?|a?tanh?|erf|powf|rsqrt}}

// Vectors stay vectors; NaN goes through the comparisons of the clamp.
// CHECK-LABEL: @exp
// CHECK: arith.cmpf olt
// CHECK: arith.select %{{.*}} : vector<16xi1>, vector<16xf32>
// CHECK-COUNT-9: math.fma {{.*}} : vector<16xf32>
// CHECK-NOT: math.fma
// CHECK: arith.shli
// CHECK: arith.mulf
// CHECK: return
// SCALE-LABEL: @exp
// SCALE-NOT: arith.shli
// SCALE: llvm.call_intrinsic "llvm.ldexp"({{.*}}) : (vector<16xf32>, vector<16xi32>) -> vector<16xf32>
// SCALE: return
func.func @exp(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.exp %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// A quotient of two polynomials, within [-1, 1].
// CHECK-LABEL: @tanh
// CHECK-COUNT-9: math.fma
// CHECK: arith.divf
// CHECK-NOT: math.fma
// CHECK: return
func.func @tanh(%x: f32) -> f32 {
  %0 = math.tanh %x : f32
  return %0 : f32
}

// CHECK-LABEL: @erf
// CHECK: math.copysign
// CHECK: return
func.func @erf(%x: f64) -> f64 {
  %0 = math.erf %x : f64
  return %0 : f64
}

// f32 computes in f64, and branches around what angles above 2^24 need.
// CHECK-LABEL: @sin
// CHECK: arith.extf %{{.*}} : vector<8xf32> to vector<8xf64>
// CHECK: %[[NEAR:.*]] = arith.cmpf olt
// CHECK: %[[ALL:.*]] = vector.reduction <and>, %[[NEAR]] : vector<8xi1> into i1
// CHECK: scf.if %[[ALL]]
// CHECK-COUNT-3: math.fma
// CHECK-NOT: math.roundeven
// CHECK: } else {
// CHECK-COUNT-16: math.roundeven
// CHECK: }
// CHECK: arith.truncf %{{.*}} : vector<8xf64> to vector<8xf32>
func.func @sin(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.sin %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// A scalar has no lanes to share a branch.
// CHECK-LABEL: @cos
// CHECK-NOT: scf.if
// CHECK-COUNT-16: math.roundeven
// CHECK-NOT: math.roundeven
// CHECK: return
func.func @cos(%x: f32) -> f32 {
  %0 = math.cos %x : f32
  return %0 : f32
}

// Nothing above 0: one power of two, and what brings subnormals.
// CHECK-LABEL: @decay
// CHECK-COUNT-1: arith.cmpf
// CHECK-NOT: arith.cmpf
// CHECK-COUNT-1: arith.shli
// CHECK-NOT: arith.shli
// CHECK-NOT: arith.shrui
// CHECK: return
func.func @decay(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.absf %x : vector<8xf32>
  %1 = arith.negf %0 : vector<8xf32>
  %2 = math.exp %1 : vector<8xf32>
  return %2 : vector<8xf32>
}

// The same where the lowering knows it, in f32 for f16.
// CHECK-LABEL: @power_of_softmax
// CHECK: arith.extf
// CHECK-COUNT-1: arith.cmpf
// CHECK-NOT: arith.cmpf
// CHECK-NOT: arith.shrui
// CHECK: arith.truncf
// CHECK: return
func.func @power_of_softmax(%x: vector<8xf16>) -> vector<8xf16> {
  %0 = math.exp %x {bp.not_positive} : vector<8xf16>
  return %0 : vector<8xf16>
}

// CHECK-LABEL: @square
// CHECK-NEXT: %[[S:.*]] = arith.mulf %arg0, %arg0
// CHECK-NEXT: return %[[S]]
func.func @square(%x: f32) -> f32 {
  %two = arith.constant 2.0 : f32
  %0 = math.powf %x, %two : f32
  return %0 : f32
}

// CHECK-LABEL: @pow
// CHECK: arith.extf
// CHECK: math.copysign
// CHECK: arith.truncf
func.func @pow(%x: f32, %y: f32) -> f32 {
  %0 = math.powf %x, %y : f32
  return %0 : f32
}

// CHECK-LABEL: @narrow
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @narrow(%x: f16) -> f16 {
  %0 = math.log %x : f16
  return %0 : f16
}

// bf16 rounds in integers.
// CHECK-LABEL: @round
// CHECK-NOT: arith.truncf
// CHECK: arith.shrui
// CHECK: return
func.func @round(%x: vector<8xf32>) -> vector<8xbf16> {
  %0 = arith.truncf %x : vector<8xf32> to vector<8xbf16>
  return %0 : vector<8xbf16>
}

// CHECK-LABEL: @small_integer
// CHECK: arith.sitofp %{{.*}} : i16 to f32
// CHECK: arith.shrui
// CHECK: return
func.func @small_integer(%x: i16) -> bf16 {
  %0 = arith.sitofp %x : i16 to bf16
  return %0 : bf16
}

// CHECK-LABEL: @others
// CHECK: math.sqrt
func.func @others(%x: f32) -> f32 {
  %0 = math.expm1 %x : f32
  %1 = math.log1p %0 : f32
  %2 = math.cos %1 : f32
  %3 = math.tan %2 : f32
  %4 = math.atan %3 : f32
  %5 = math.rsqrt %4 : f32
  %6 = math.asin %5 : f32
  %7 = math.acos %6 : f32
  %8 = math.sinh %7 : f32
  %9 = math.cosh %8 : f32
  %10 = math.asinh %9 : f32
  %11 = math.acosh %10 : f32
  %12 = math.atanh %11 : f32
  return %12 : f32
}

// A large f64 is multiplied with the digits of 2 / pi that it needs.
// CHECK-LABEL: @sine
// CHECK: math.floor
// CHECK-COUNT-64: arith.select
// CHECK: return
func.func @sine(%x: f64) -> f64 {
  %0 = math.sin %x : f64
  return %0 : f64
}
