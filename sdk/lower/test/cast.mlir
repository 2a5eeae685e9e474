// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-lower-to-linalg --split-input-file | FileCheck %s

// Float to integer saturates, NaN gives 0, and no value out of range reaches
// the conversion. A float that has all values of the integer saturates before.
// CHECK-LABEL: @saturates
// CHECK-DAG: %[[LOW:.*]] = arith.constant -1.280000e+02 : f32
// CHECK-DAG: %[[HIGH:.*]] = arith.constant 1.270000e+02 : f32
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[NUMBER:.*]] = arith.cmpf ord, %[[X:.*]], %[[X]]
// CHECK: %[[N:.*]] = arith.select %[[NUMBER]], %[[X]], %[[ZERO]]
// CHECK: %[[A:.*]] = arith.cmpf ogt, %[[N]], %[[LOW]]
// CHECK: %[[UP:.*]] = arith.select %[[A]], %[[N]], %[[LOW]]
// CHECK: %[[B:.*]] = arith.cmpf olt, %[[UP]], %[[HIGH]]
// CHECK: %[[DOWN:.*]] = arith.select %[[B]], %[[UP]], %[[HIGH]]
// CHECK: arith.fptosi %[[DOWN]] : f32 to i8
func.func @saturates(%a: tensor<8xf32>) -> tensor<8xi8> {
  %0 = bp.cast %a {dtype = i8} : (tensor<8xf32>) -> tensor<8xi8>
  return %0 : tensor<8xi8>
}

// -----

// What is not above 0, NaN too, is 0 without a sign.
// CHECK-LABEL: @saturates_unsigned
// CHECK-NOT: arith.cmpf ord
// CHECK: arith.cmpf ogt
// CHECK: arith.cmpf olt
// CHECK: arith.fptoui %{{.*}} : f32 to i8
func.func @saturates_unsigned(%a: tensor<8xf32>) -> tensor<8xui8> {
  %0 = bp.cast %a {dtype = ui8} : (tensor<8xf32>) -> tensor<8xui8>
  return %0 : tensor<8xui8>
}

// -----

// CHECK-LABEL: @saturates_wide
// CHECK-DAG: %[[LOW:.*]] = arith.constant -2.14748365E+9 : f32
// CHECK-DAG: %[[HIGH:.*]] = arith.constant 2.14748365E+9 : f32
// CHECK: %[[ABOVE:.*]] = arith.cmpf oge, %[[X:.*]], %[[HIGH]]
// CHECK: %[[BELOW:.*]] = arith.cmpf olt, %[[X]], %[[LOW]]
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[X]], %[[X]]
// CHECK: %[[SAFE:.*]] = arith.select %{{.*}}, %cst{{.*}}, %[[X]]
// CHECK: %[[I:.*]] = arith.fptosi %[[SAFE]] : f32 to i32
// CHECK: %[[UP:.*]] = arith.select %[[ABOVE]], %c2147483647_i32, %[[I]]
// CHECK: arith.select %[[BELOW]], %c-2147483648_i32, %[[UP]]
func.func @saturates_wide(%a: tensor<8xf32>) -> tensor<8xi32> {
  %0 = bp.cast %a {dtype = i32} : (tensor<8xf32>) -> tensor<8xi32>
  return %0 : tensor<8xi32>
}

// -----

// f64 to f16 goes through f32 rounded to odd, so it rounds once.
// CHECK-LABEL: @rounds_once
// CHECK: arith.truncf %{{.*}} : f64 to f32
// CHECK: arith.ori
// CHECK: %[[ODD:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK: arith.truncf %[[ODD]] : f32 to f16
func.func @rounds_once(%a: tensor<8xf64>) -> tensor<8xf16> {
  %0 = bp.cast %a {dtype = f16} : (tensor<8xf64>) -> tensor<8xf16>
  return %0 : tensor<8xf16>
}

// -----

// CHECK-LABEL: @extends
// CHECK: arith.extui %{{.*}} : i8 to i32
func.func @extends(%a: tensor<8xui8>) -> tensor<8xi32> {
  %0 = bp.cast %a {dtype = i32} : (tensor<8xui8>) -> tensor<8xi32>
  return %0 : tensor<8xi32>
}

// -----

// NaN is not 0.
// CHECK-LABEL: @to_bool
// CHECK: arith.cmpf une
func.func @to_bool(%a: tensor<8xf32>) -> tensor<8xi1> {
  %0 = bp.cast %a {dtype = i1} : (tensor<8xf32>) -> tensor<8xi1>
  return %0 : tensor<8xi1>
}

// -----

// CHECK-LABEL: @from_bool
// CHECK: %[[B:.*]] = arith.cmpi ne
// CHECK: arith.uitofp %[[B]] : i1 to f32
func.func @from_bool(%a: tensor<8xi1>) -> tensor<8xf32> {
  %0 = bp.cast %a {dtype = f32} : (tensor<8xi1>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A 64-bit integer becomes exact in f64 before it rounds to bf16.
// CHECK-LABEL: @sticky
// CHECK: arith.andi %{{.*}}, %c4095_i64
// CHECK: arith.sitofp %{{.*}} : i64 to f64
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @sticky(%a: tensor<8xi64>) -> tensor<8xbf16> {
  %0 = bp.cast %a {dtype = bf16} : (tensor<8xi64>) -> tensor<8xbf16>
  return %0 : tensor<8xbf16>
}

// -----

// f8 is a byte in memory, f32 in bodies; both directions are arithmetic on
// bits, and a byte that only moves stays one.
// CHECK-LABEL: @from_f8
// CHECK-SAME: %arg0: tensor<8xi8>
// CHECK: arith.extui %{{.*}} : i8 to i32
// CHECK: arith.shli
// CHECK: arith.mulf
// CHECK: arith.select
// CHECK-NOT: arith.extf
func.func @from_f8(%x: tensor<8xf8E4M3FN>) -> tensor<8xf32> {
  %0 = bp.cast %x {dtype = f32} : (tensor<8xf8E4M3FN>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: @to_f8
// CHECK: arith.minui %{{.*}}, %c124_i32
// CHECK: arith.trunci %{{.*}} : i32 to i8
func.func @to_f8(%x: tensor<8xf32>) -> tensor<8xf8E5M2> {
  %0 = bp.cast %x {dtype = f8E5M2} : (tensor<8xf32>) -> tensor<8xf8E5M2>
  return %0 : tensor<8xf8E5M2>
}

// -----

// CHECK-LABEL: @move_f8
// CHECK: linalg.generic
// CHECK-NEXT: ^bb0(%[[IN:.*]]: i8, %{{.*}}: i8):
// CHECK-NEXT: linalg.yield %[[IN]] : i8
func.func @move_f8(%x: tensor<2x3xf8E5M2>) -> tensor<3x2xf8E5M2> {
  %0 = bp.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf8E5M2>) -> tensor<3x2xf8E5M2>
  return %0 : tensor<3x2xf8E5M2>
}

// -----

// NaN has the bits of -0, so there is one zero.
// CHECK-LABEL: @to_fnuz
// CHECK: %[[CODE:.*]] = arith.minui %{{.*}}, %c128_i32
// CHECK: %[[SIGNED:.*]] = arith.ori
// CHECK: %[[KEPT:.*]] = arith.select %{{.*}}, %c0_i32, %[[SIGNED]]
// CHECK: arith.select %{{.*}}, %[[KEPT]], %c128_i32
func.func @to_fnuz(%x: tensor<8xf32>) -> tensor<8xf8E4M3FNUZ> {
  %0 = bp.cast %x {dtype = f8E4M3FNUZ} : (tensor<8xf32>) -> tensor<8xf8E4M3FNUZ>
  return %0 : tensor<8xf8E4M3FNUZ>
}

// -----

// CHECK-LABEL: @from_fnuz
// CHECK: %[[NAN:.*]] = arith.cmpi eq, %{{.*}}, %c128_i32
// CHECK: arith.select %[[NAN]], %c2143289344_i32
func.func @from_fnuz(%x: tensor<8xf8E5M2FNUZ>) -> tensor<8xf32> {
  %0 = bp.cast %x {dtype = f32} : (tensor<8xf8E5M2FNUZ>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A power of two is the exponent of an f32, and no arithmetic rounds it.
// CHECK-LABEL: @powers
// CHECK: arith.shli %{{.*}}, %c23_i32
// CHECK: arith.addi %{{.*}}, %c4194304_i32
// CHECK-NOT: arith.mulf
func.func @powers(%x: tensor<8xf8E8M0FNU>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf8E8M0FNU>) {
  %0 = bp.cast %x {dtype = f32} : (tensor<8xf8E8M0FNU>) -> tensor<8xf32>
  %1 = bp.cast %y {dtype = f8E8M0FNU} : (tensor<8xf32>) -> tensor<8xf8E8M0FNU>
  return %0, %1 : tensor<8xf32>, tensor<8xf8E8M0FNU>
}

// -----

// Two in a byte, as 4-bit integers; what is too high is the highest.
// CHECK-LABEL: @four_bits
// CHECK-SAME: %arg0: tensor<4xi8>
// CHECK: arith.shrui %{{.*}}, %c28_i32
// CHECK: arith.minui %{{.*}}, %c7_i32
func.func @four_bits(%x: tensor<8xf4E2M1FN>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf4E2M1FN>) {
  %0 = bp.cast %x {dtype = f32} : (tensor<8xf4E2M1FN>) -> tensor<8xf32>
  %1 = bp.cast %y {dtype = f4E2M1FN} : (tensor<8xf32>) -> tensor<8xf4E2M1FN>
  return %0, %1 : tensor<8xf32>, tensor<8xf4E2M1FN>
}
