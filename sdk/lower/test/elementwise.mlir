// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-lower-to-linalg --split-input-file | FileCheck %s

// A chain is one op; the broadcast is an indexing map.
// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @chain
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32> {bp.dims = ["4", "8"]}
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<8xf32> {bp.dims = ["8"]}
// CHECK-SAME: %[[OUT:[a-z0-9]+]]: tensor<4x8xf32> {bp.dims = ["4", "8"]}
// CHECK-SAME: bp.inputs = 2 : i64, bp.outputs = 1 : i64, bp.symbols = []
// CHECK-NEXT: %[[R:.*]] = linalg.generic {indexing_maps = [#[[ALL]], #[[ROW]], #[[ALL]]]
// CHECK-SAME: ins(%[[X]], %[[B]] : {{.*}}) outs(%[[OUT]]
// CHECK: %[[S:.*]] = arith.addf
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[S]]
// CHECK-NEXT: %[[U:.*]] = arith.mulf %[[T]], %[[S]]
// CHECK-NEXT: linalg.yield %[[U]]
// CHECK: return %[[R]]
// CHECK-NOT: linalg.generic
func.func @chain(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = bp.broadcast %b {dims = #bp.dims<["4", "8"]>, axes = array<i64: 1>} : (tensor<8xf32>) -> tensor<4x8xf32>
  %1 = bp.add %x, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = bp.tanh %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = bp.mul %2, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// -----

// 16-bit floats compute in f32; what another op computes with is not rounded.
// CHECK-LABEL: @half
// CHECK: linalg.generic
// CHECK: %[[A:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: %[[B:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: %[[S:.*]] = arith.addf %[[A]], %[[B]] : f32
// CHECK-NEXT: %[[R:.*]] = math.sqrt %[[S]] : f32
// CHECK-NEXT: %[[H:.*]] = arith.truncf %[[R]] : f32 to f16
// CHECK-NEXT: linalg.yield %[[H]]
func.func @half(%a: tensor<8xf16>, %b: tensor<8xf16>) -> tensor<8xf16> {
  %0 = bp.add %a, %b : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %1 = bp.sqrt %0 : (tensor<8xf16>) -> tensor<8xf16>
  return %1 : tensor<8xf16>
}

// -----

// A cast is there to round, and comparisons decide on what is rounded.
// CHECK-LABEL: @rounding
// CHECK: linalg.generic
// CHECK: %[[T:.*]] = math.tanh
// CHECK: %[[H:.*]] = arith.truncf %{{.*}} : f32 to f16
// CHECK: %[[A:.*]] = arith.extf %[[H]] : f16 to f32
// CHECK: %[[D:.*]] = arith.addf %[[A]]
// CHECK: %[[N:.*]] = arith.truncf %[[D]] : f32 to f16
// CHECK: %[[W:.*]] = arith.extf %[[N]] : f16 to f32
// CHECK: arith.cmpf olt, %[[W]]
func.func @rounding(%a: tensor<8xf32>, %b: tensor<8xf16>) -> tensor<8xi1> {
  %t = bp.tanh %a : (tensor<8xf32>) -> tensor<8xf32>
  %0 = bp.cast %t {dtype = f16} : (tensor<8xf32>) -> tensor<8xf16>
  %1 = bp.add %0, %b : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %2 = bp.compare %1, %b {direction = "lt"} : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xi1>
  return %2 : tensor<8xi1>
}

// -----

// Between loops it stays in f32 too: one rounding at the end.
// CHECK-LABEL: @between
// CHECK: %[[E:.*]] = linalg.generic
// CHECK-SAME: outs(%{{.*}} : tensor<4x8xf32>)
// CHECK-NOT: arith.truncf
// CHECK: %[[S:.*]] = linalg.generic
// CHECK-SAME: ins(%[[E]] : tensor<4x8xf32>)
// CHECK-SAME: outs(%{{.*}} : tensor<4xf32>)
// CHECK-NOT: arith.truncf
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[E]], %[[S]] : tensor<4x8xf32>, tensor<4xf32>)
// CHECK: arith.divf
// CHECK-NEXT: arith.truncf
func.func @between(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %e = bp.exp %x : (tensor<4x8xf16>) -> tensor<4x8xf16>
  %s = bp.reduce %e {kind = "sum", axes = array<i64: 1>, keep = true} : (tensor<4x8xf16>) -> tensor<4x1xf16>
  %b = bp.broadcast %s {dims = #bp.dims<["4", "8"]>, axes = array<i64: 0, 1>} : (tensor<4x1xf16>) -> tensor<4x8xf16>
  %r = bp.div %e, %b : (tensor<4x8xf16>, tensor<4x8xf16>) -> tensor<4x8xf16>
  return %r : tensor<4x8xf16>
}

// -----

// bool is a byte in memory and a bit in bodies; nothing is stored in between.
// CHECK-LABEL: @bool
// CHECK-SAME: tensor<8xi8>
// CHECK: linalg.generic
// CHECK: %[[C:.*]] = arith.cmpf olt
// CHECK-NEXT: %[[M:.*]] = arith.cmpi ne, %{{.*}}, %{{.*}} : i8
// CHECK-NEXT: %[[A:.*]] = arith.andi %[[C]], %[[M]] : i1
// CHECK-NEXT: %[[B:.*]] = arith.extui %[[A]] : i1 to i8
// CHECK-NEXT: linalg.yield %[[B]]
func.func @bool(%a: tensor<8xf32>, %b: tensor<8xf32>, %m: tensor<8xi1>) -> tensor<8xi1> {
  %0 = bp.compare %a, %b {direction = "lt"} : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %1 = bp.and %0, %m : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
  return %1 : tensor<8xi1>
}

// -----

// Unsigned integers are signless in memory; their ops are not.
// CHECK-LABEL: @unsigned
// CHECK-SAME: tensor<8xi8>
// CHECK: arith.maxui
// CHECK: arith.cmpi ult
func.func @unsigned(%a: tensor<8xui8>, %b: tensor<8xui8>) -> tensor<8xi1> {
  %0 = bp.max %a, %b : (tensor<8xui8>, tensor<8xui8>) -> tensor<8xui8>
  %1 = bp.compare %0, %b {direction = "lt"} : (tensor<8xui8>, tensor<8xui8>) -> tensor<8xi1>
  return %1 : tensor<8xi1>
}

// -----

// Neither 0 nor -1 reaches the machine's division; 0 reports 2 << 24.
// CHECK-LABEL: @divide
// CHECK-SAME: %[[ERROR:[a-z0-9]+]]: memref<1xi32>) -> tensor<8xi32> attributes {bp.error
// CHECK-DAG: %[[CODE:.*]] = arith.constant 33554432 : i32
// CHECK: linalg.generic
// CHECK: %[[BAD:.*]] = arith.cmpi eq, %[[B:.*]], %c0_i32
// CHECK: scf.if %[[BAD]]
// CHECK: memref.load %[[ERROR]]
// CHECK: memref.store %[[CODE]], %[[ERROR]]
// CHECK: %[[FLIPS:.*]] = arith.cmpi eq, %[[B]], %c-1_i32
// CHECK: %[[UNSAFE:.*]] = arith.ori %[[BAD]], %[[FLIPS]]
// CHECK: %[[SAFE:.*]] = arith.select %[[UNSAFE]], %c1_i32, %[[B]]
// CHECK: arith.divsi %{{.*}}, %[[SAFE]]
// CHECK: %[[Q:.*]] = arith.select %[[FLIPS]]
// CHECK: arith.select %[[BAD]], %c0_i32, %[[Q]]
func.func @divide(%a: tensor<8xi32>, %b: tensor<8xi32>) -> tensor<8xi32> {
  %0 = bp.div %a, %b : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
  return %0 : tensor<8xi32>
}

// -----

// A divisor that is known cannot report.
// CHECK-LABEL: @divide_by_three
// CHECK-NOT: memref
// CHECK-NOT: bp.error
func.func @divide_by_three(%a: tensor<8xui32>) -> tensor<8xui32> {
  %0 = bp.constant {value = dense<3> : tensor<ui32>, dtype = ui32, dims = #bp.dims<[]>} : () -> tensor<ui32>
  %1 = bp.broadcast %0 {dims = #bp.dims<["8"]>, axes = array<i64>} : (tensor<ui32>) -> tensor<8xui32>
  %2 = bp.rem %a, %1 : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
  return %2 : tensor<8xui32>
}

// -----

// Float remainders are exact: the divisor is doubled up, then subtracted down.
// CHECK-LABEL: @remainder
// CHECK: scf.while
// CHECK: scf.while
// CHECK: math.copysign
// CHECK-NOT: arith.remf
func.func @remainder(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  %0 = bp.rem %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: @not
// CHECK: arith.xori %{{.*}}, %c-1_i16
func.func @not(%a: tensor<8xi16>) -> tensor<8xi16> {
  %0 = bp.not %a : (tensor<8xi16>) -> tensor<8xi16>
  return %0 : tensor<8xi16>
}

// -----

// A scalar constant is captured, not loaded.
// CHECK-LABEL: @scaled
// CHECK: %[[C:.*]] = arith.constant 5.000000e-01 : f32
// CHECK: linalg.generic
// CHECK-SAME: ins(%arg0 : tensor<?xf32>) outs(%arg1 : tensor<?xf32>)
// CHECK: arith.mulf %{{.*}}, %[[C]]
func.func @scaled(%a: tensor<?xf32, #bp.dims<["n"]>>) -> tensor<?xf32, #bp.dims<["n"]>> attributes {bp.symbols = ["n"]} {
  %0 = bp.constant {value = dense<0.5> : tensor<f32>, dtype = f32, dims = #bp.dims<["n"]>} : () -> tensor<?xf32, #bp.dims<["n"]>>
  %1 = bp.mul %a, %0 : (tensor<?xf32, #bp.dims<["n"]>>, tensor<?xf32, #bp.dims<["n"]>>) -> tensor<?xf32, #bp.dims<["n"]>>
  return %1 : tensor<?xf32, #bp.dims<["n"]>>
}

// -----

// Results of one shape that share what they read are one op.
// CHECK-LABEL: @results
// CHECK: %[[R:.*]]:2 = linalg.generic {{.*}} ins(%arg0, %arg1 : {{.*}}) outs(%arg2, %arg3
// CHECK: %[[S:.*]] = arith.addf
// CHECK-DAG: %[[A:.*]] = math.sqrt %[[S]]
// CHECK-DAG: %[[B:.*]] = arith.mulf %[[S]], %[[S]]
// CHECK: linalg.yield %[[A]], %[[B]]
// CHECK-NOT: linalg.generic
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @results(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = bp.add %x, %y : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = bp.sqrt %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = bp.mul %0, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Those that share nothing, of another shape or of another order stay apart.
// CHECK-LABEL: @apart
// CHECK-COUNT-4: linalg.generic
// CHECK-NOT: linalg.generic
func.func @apart(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>) {
  %0 = bp.exp %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = bp.sqrt %y : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = bp.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = bp.tanh %2 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = bp.reduce %y {kind = "sum", axes = array<i64: 1>} : (tensor<8x8xf32>) -> tensor<8xf32>
  return %0, %1, %3, %4 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>
}
