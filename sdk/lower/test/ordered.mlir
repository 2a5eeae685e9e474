// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --bp-lower-to-linalg | FileCheck %s

// Sequential loops into the destination; halves are summed in f32 and each
// result is rounded once.
// CHECK-LABEL: func.func @cumulative
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<3x5xf16>{{.*}}, %[[OUT:[a-z0-9]+]]: tensor<3x5xf16>
// CHECK:      scf.for {{.*}} iter_args(%{{.*}} = %[[OUT]])
// CHECK:        scf.for
// CHECK:          %[[WIDE:.*]] = arith.extf {{.*}} : f16 to f32
// CHECK:          %[[SUM:.*]] = arith.addf %{{.*}}, %[[WIDE]] : f32
// CHECK:          arith.truncf %[[SUM]] : f32 to f16
// CHECK:          tensor.insert
func.func @cumulative(%x: tensor<3x5xf16>) -> tensor<3x5xf16> {
  %0 = bp.cumulative %x {axis = 1 : i64, kind = "sum"} : (tensor<3x5xf16>) -> tensor<3x5xf16>
  return %0 : tensor<3x5xf16>
}

// The first k elements, made a heap, take in those that are better than its
// root, whose element goes along; it is sorted at the end. An element and its
// index are one key where the index goes, until the last loop.
// CHECK-LABEL: func.func @top_k
// CHECK-SAME:    %arg1: tensor<2xf32>{{.*}}, %arg2: tensor<2xi64>
// CHECK:         scf.for {{.*}} iter_args({{.*}} = %arg1, {{.*}} = %arg2)
// CHECK:           tensor.extract %arg0
// CHECK:           %[[WORD:.*]] = arith.extui {{.*}} : i32 to i64
// CHECK:           %[[HIGH:.*]] = arith.shli %[[WORD]], %c32_i64
// CHECK:           %[[LOW:.*]] = arith.subi %c4294967295_i64
// CHECK:           %[[KEY:.*]] = arith.ori %[[HIGH]], %[[LOW]]
// CHECK:           tensor.insert %[[KEY]] into
// CHECK:         scf.for
// CHECK-NOT:       scf.for
// CHECK:           arith.cmpi ult, {{.*}} : i64
// CHECK:           scf.if
// CHECK:         scf.for
// CHECK:           tensor.extract %arg0
// CHECK:         scf.for
// CHECK:           tensor.extract %arg0
// CHECK:           arith.cmpf ugt
// CHECK:           scf.if
// CHECK:             arith.cmpf ogt
// CHECK:             scf.if
// CHECK-NOT:           scf.for
// CHECK:               scf.if
// CHECK:         scf.for
// CHECK-NOT:       scf.for
// CHECK:           scf.if
// CHECK:         scf.for
// CHECK:           tensor.extract %arg0
// CHECK:           tensor.insert
// CHECK-NOT:     linalg.generic
func.func @top_k(%x: tensor<9xf32>) -> (tensor<2xf32>, tensor<2xi64>) {
  %0:2 = bp.top_k %x {axis = 0 : i64, k = #bp.dims<["2"]>, largest = true} : (tensor<9xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<2xi64>
}

// Few of lines that lie side by side are numbers in registers: each element
// goes through all of them, without a branch.
// CHECK-LABEL: func.func @top_k_few
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK:             %[[KEYS:.*]]:2 = scf.for {{.*}} iter_args(%[[A:.*]] = %c0_i64, %[[B:.*]] = %c0_i64) -> (i64, i64)
// CHECK:               tensor.extract %arg0
// CHECK:               %[[ABOVE:.*]] = arith.cmpi ugt, %[[A]], %[[KEY:.*]] : i64
// CHECK:               %[[FIRST:.*]] = arith.select %[[ABOVE]], %[[A]], %[[KEY]]
// CHECK:               %[[NEXT:.*]] = arith.select %[[ABOVE]], %[[KEY]], %[[A]]
// CHECK:               arith.cmpi ugt, %[[B]], %[[NEXT]] : i64
// CHECK:               scf.yield %[[FIRST]]
// CHECK-NOT:         tensor.extract
// CHECK:             arith.shrui %[[KEYS]]#0, %c32_i64
// CHECK-COUNT-4:     tensor.insert
// CHECK:           {bp.independent}
// CHECK:         {bp.independent}
// CHECK:         return
func.func @top_k_few(%x: tensor<4x9x16xf32>) -> (tensor<4x2x16xf32>, tensor<4x2x16xi64>) {
  %0:2 = bp.top_k %x {axis = 1 : i64, k = #bp.dims<["2"]>, largest = false} : (tensor<4x9x16xf32>) -> (tensor<4x2x16xf32>, tensor<4x2x16xi64>)
  return %0#0, %0#1 : tensor<4x2x16xf32>, tensor<4x2x16xi64>
}

// Many, or few lines side by side, are heaps.
// CHECK-LABEL: func.func @top_k_many
// CHECK:         arith.cmpi ult, {{.*}} : i64
// CHECK:         return
func.func @top_k_many(%x: tensor<32x16xf32>) -> (tensor<9x16xf32>, tensor<9x16xi64>) {
  %0:2 = bp.top_k %x {axis = 0 : i64, k = #bp.dims<["9"]>, largest = true} : (tensor<32x16xf32>) -> (tensor<9x16xf32>, tensor<9x16xi64>)
  return %0#0, %0#1 : tensor<9x16xf32>, tensor<9x16xi64>
}
// CHECK-LABEL: func.func @top_k_narrow
// CHECK:         arith.cmpi ult, {{.*}} : i64
// CHECK:         return
func.func @top_k_narrow(%x: tensor<32x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xi64>) {
  %0:2 = bp.top_k %x {axis = 0 : i64, k = #bp.dims<["2"]>, largest = true} : (tensor<32x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xi64>)
  return %0#0, %0#1 : tensor<2x4xf32>, tensor<2x4xi64>
}

// Elements of 64 bits stay apart from their indices.
// CHECK-LABEL: func.func @top_k_wide
// CHECK-NOT:     arith.shli
// CHECK:         arith.cmpi sgt, {{.*}} : i64
// CHECK-NOT:     arith.shli
// CHECK:         return
func.func @top_k_wide(%x: tensor<9xi64>) -> (tensor<2xi64>, tensor<2xi64>) {
  %0:2 = bp.top_k %x {axis = 0 : i64, k = #bp.dims<["2"]>, largest = true} : (tensor<9xi64>) -> (tensor<2xi64>, tensor<2xi64>)
  return %0#0, %0#1 : tensor<2xi64>, tensor<2xi64>
}

// How far an entry goes down is not known: four levels in a turn of a loop.
// CHECK-LABEL: func.func @top_k_unknown
// CHECK:         scf.while
// CHECK:         arith.ceildivui %{{.*}}, %c4
// CHECK:         scf.for
// CHECK:         scf.for
// CHECK:           scf.for
// CHECK-COUNT-4:     scf.if
func.func @top_k_unknown(%x: tensor<?xf32, #bp.dims<["n"]>>) -> (tensor<?xf32, #bp.dims<["n"]>>, tensor<?xi64, #bp.dims<["n"]>>) attributes {bp.symbols = ["n"]} {
  %0:2 = bp.top_k %x {axis = 0 : i64, k = #bp.dims<["n"]>, largest = true} : (tensor<?xf32, #bp.dims<["n"]>>) -> (tensor<?xf32, #bp.dims<["n"]>>, tensor<?xi64, #bp.dims<["n"]>>)
  return %0#0, %0#1 : tensor<?xf32, #bp.dims<["n"]>>, tensor<?xi64, #bp.dims<["n"]>>
}

// An index out of range reports and leaves its update out.
// CHECK-LABEL: func.func @scatter
// CHECK-SAME: %[[ERROR:[a-z0-9]+]]: memref<1xi32>
// CHECK-SAME: bp.error
// CHECK:      %[[BAD:.*]] = arith.cmpi uge
// CHECK:      memref.store {{.*}}, %[[ERROR]]
// CHECK:      scf.if %[[BAD]] -> (tensor<4xi32>)
// CHECK-NEXT:   scf.yield
// CHECK:        arith.addi
// CHECK:        tensor.insert
func.func @scatter(%x: tensor<4xi32>, %i: tensor<3xi64>, %u: tensor<3xi32>) -> tensor<4xi32> {
  %0 = bp.scatter %x, %i, %u {axis = 0 : i64, combine = "add"} : (tensor<4xi32>, tensor<3xi64>, tensor<3xi32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// The machine's shifts are asked for less than the width only.
// CHECK-LABEL: func.func @shifts
// CHECK:         %[[INSIDE:.*]] = arith.cmpi ult
// CHECK:         %[[BY:.*]] = arith.select %[[INSIDE]]
// CHECK:         %[[LEFT:.*]] = arith.shli %{{.*}}, %[[BY]] : i8
// CHECK:         arith.select %[[INSIDE]], %[[LEFT]]
// CHECK:         %[[MOST:.*]] = arith.minui
// CHECK:         arith.shrsi %{{.*}}, %[[MOST]] : i8
func.func @shifts(%a: tensor<4xi8>, %b: tensor<4xi8>) -> tensor<4xi8> {
  %0 = bp.shl %a, %b : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  %1 = bp.shr %0, %b : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi8>
  return %1 : tensor<4xi8>
}
