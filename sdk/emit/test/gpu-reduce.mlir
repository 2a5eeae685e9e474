// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-reduce -split-input-file -verify-diagnostics | FileCheck %s
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-reduce=most-sums=100 -split-input-file | FileCheck %s --check-prefix=MORE
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-reduce=subgroups=true -split-input-file | FileCheck %s --check-prefix=SUB
// RUN: bp-opt %s -bp-bind-buffers -bp-gpu-reduce='subgroups=true cluster-sums=64' -split-input-file | FileCheck %s --check-prefix=ROWS
// RUN: not bp-opt %s -bp-gpu-reduce=cluster-sums=64 -split-input-file 2>&1 | FileCheck %s --check-prefix=ALONE

// ALONE: error: cluster-sums needs subgroups=true

// Every invocation adds each 128th element, 100 have one more; 16 add 8 shares
// each, in pairs, one the rest. What follows, in another shape, is for that
// one. The result that needs no sum is computed element by element.
// CHECK-LABEL: func.func @sum(
// CHECK-SAME: %[[X:.*]]: memref<2x1124xf32>{{.*}}, %[[ROOT:.*]]: memref<2x1xf32>{{.*}}, %[[TWICE:.*]]: memref<2x1124xf32>
// CHECK: scf.forall (%[[ROW:.*]]) in (2) {
// CHECK: %[[T:.*]] = gpu.thread_id x
// CHECK: %[[M:.*]] = memref.alloc() : memref<144xf32, #gpu.address_space<workgroup>>
// CHECK: %[[S:.*]] = scf.for %{{.*}} = %c0 to %c8 step %c1
// CHECK: memref.load %[[X]]
// CHECK: arith.addf
// CHECK: arith.cmpi ult, %{{.*}}, %c1124
// CHECK: %[[OWN:.*]] = scf.if
// CHECK: scf.yield %[[S]]
// CHECK: memref.store %[[OWN]], %[[M]][%[[T]]]
// CHECK: gpu.barrier
// CHECK: arith.cmpi ult, %[[T]], %c16
// CHECK: scf.if
// CHECK-COUNT-8: memref.load %[[M]]
// CHECK-COUNT-7: arith.addf
// CHECK: memref.store %{{.*}}, %[[M]]
// CHECK: gpu.barrier
// CHECK: arith.cmpi ult, %[[T]], %c1
// CHECK: scf.if
// CHECK-COUNT-16: memref.load %[[M]]
// CHECK-COUNT-14: arith.addf
// CHECK: %[[ALL:.*]] = arith.addf
// CHECK: %[[R:.*]] = math.sqrt %[[ALL]]
// CHECK: memref.store %[[R]], %[[ROOT]]
// CHECK: mapping = [#gpu.block<linear_dim_0>]
// CHECK: scf.forall (%{{.*}}, %{{.*}}) in (2, 1124) {
// CHECK: memref.store %{{.*}}, %[[TWICE]]
// CHECK-NOT: linalg

// With subgroups, eight neighbours hand each other their sums: neighbours in
// the subgroup, wherever that puts them. One barrier is left.
// SUB-LABEL: func.func @sum(
// SUB-DAG: %[[SUBGROUP:.*]] = gpu.subgroup_id : index
// SUB-DAG: %[[SIZE:.*]] = gpu.subgroup_size : index
// SUB-DAG: %[[LANE:.*]] = gpu.lane_id
// SUB: %[[FIRST:.*]] = arith.muli %[[SUBGROUP]], %[[SIZE]]
// SUB: %[[T:.*]] = arith.addi %[[FIRST]], %[[LANE]]
// SUB: %[[M:.*]] = memref.alloc() : memref<16xf32, #gpu.address_space<workgroup>>
// SUB: %[[OWN:.*]] = scf.if
// SUB: %[[A:.*]], %{{.*}} = gpu.shuffle xor %[[OWN]], %c1_i32, %c8_i32
// SUB: %[[AB:.*]] = arith.addf %[[OWN]], %[[A]]
// SUB: %[[B:.*]], %{{.*}} = gpu.shuffle xor %[[AB]], %c2_i32, %c8_i32
// SUB: %[[ABC:.*]] = arith.addf %[[AB]], %[[B]]
// SUB: %[[C:.*]], %{{.*}} = gpu.shuffle xor %[[ABC]], %c4_i32, %c8_i32
// SUB: %[[S:.*]] = arith.addf %[[ABC]], %[[C]]
// SUB: arith.remui %[[T]], %c8
// SUB: %[[PLACE:.*]] = arith.divui %[[T]], %c8
// SUB: memref.store %[[S]], %[[M]][%[[PLACE]]]
// SUB: gpu.barrier
// SUB-NOT: gpu.barrier
// SUB: arith.cmpi ult, %[[T]], %c1
// SUB-COUNT-16: memref.load %[[M]]
func.func @sum(%x: tensor<2x1124xf32>, %root: tensor<2x1xf32>, %twice: tensor<2x1124xf32>)
    -> (tensor<2x1xf32>, tensor<2x1124xf32>)
    attributes {bp.inputs = 1 : i64, bp.outputs = 2 : i64} {
  %zero = arith.constant 0.0 : f32
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x1124xf32>) outs(%twice : tensor<2x1124xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.addf %v, %v : f32
    linalg.yield %t : f32
  } -> tensor<2x1124xf32>
  %e = tensor.empty() : tensor<2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%d : tensor<2x1124xf32>) outs(%f : tensor<2xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.addf %o, %v : f32
    linalg.yield %t : f32
  } -> tensor<2xf32>
  %n = tensor.empty() : tensor<2xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%s : tensor<2xf32>) outs(%n : tensor<2xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = math.sqrt %v : f32
    linalg.yield %t : f32
  } -> tensor<2xf32>
  %k = tensor.expand_shape %r [[0, 1]] output_shape [2, 1] : tensor<2xf32> into tensor<2x1xf32>
  return %k, %d : tensor<2x1xf32>, tensor<2x1124xf32>
}

// -----

// A maximum may start with anything. So many are for work-groups only when
// asked for.
// CHECK-LABEL: func.func @maxima(
// CHECK-NOT: scf.forall
// MORE-LABEL: func.func @maxima(
// MORE: scf.forall (%{{.*}}) in (100)
// MORE: arith.maxsi

// A cluster for each of 100 rows, 16 in a work-group. The clusters that are too
// many take the last row again.
// ROWS-LABEL: func.func @maxima(
// ROWS: scf.forall (%[[GROUP:.*]]) in (7)
// ROWS: %[[LANE:.*]] = arith.remui %[[T:.*]], %c8
// ROWS: %[[CLUSTER:.*]] = arith.divui %[[T]], %c8
// ROWS: %[[FIRST:.*]] = arith.muli %[[GROUP]], %c16
// ROWS: %[[ROW:.*]] = arith.addi %[[FIRST]], %[[CLUSTER]]
// ROWS: %[[THERE:.*]] = arith.cmpi ule, %[[ROW]], %c99
// ROWS: arith.minui %[[ROW]], %c99
// ROWS: scf.for %[[TURN:.*]] = %c0 to %c128
// ROWS: %[[K:.*]] = arith.muli %[[TURN]], %c8
// ROWS: arith.addi %[[K]], %[[LANE]]
// ROWS-COUNT-3: gpu.shuffle xor
// ROWS-NOT: gpu.barrier
// ROWS: %[[LEADER:.*]] = arith.cmpi ult, %[[LANE]], %c1
// ROWS: %[[STORES:.*]] = arith.andi %[[LEADER]], %[[THERE]]
// ROWS: scf.if %[[STORES]]
// ROWS: memref.store
func.func @maxima(%x: tensor<100x1024xi32>, %out: tensor<100xi32>) -> tensor<100xi32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %start = arith.constant 7 : i32
  %f = linalg.fill ins(%start : i32) outs(%out : tensor<100xi32>) -> tensor<100xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<100x1024xi32>) outs(%f : tensor<100xi32>) {
  ^bb0(%v: i32, %o: i32):
    %t = arith.maxsi %o, %v : i32
    linalg.yield %t : i32
  } -> tensor<100xi32>
  return %r : tensor<100xi32>
}

// -----

// Left alone: columns, which neighbouring invocations read together already; a
// sum that starts with a number; a difference, which has an order.
// MORE-LABEL: func.func @columns(
// MORE-NOT: scf.forall
// ROWS-LABEL: func.func @columns(
// ROWS-NOT: scf.forall
func.func @columns(%x: tensor<1024x100xf32>, %out: tensor<100xf32>) -> tensor<100xf32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<100xf32>) -> tensor<100xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<1024x100xf32>) outs(%f : tensor<100xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.addf %o, %v : f32
    linalg.yield %t : f32
  } -> tensor<100xf32>
  return %r : tensor<100xf32>
}

// -----

// CHECK-LABEL: func.func @started(
// CHECK-NOT: scf.forall
func.func @started(%x: tensor<1024xf32>, %out: tensor<f32>) -> tensor<f32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %three = arith.constant 3.0 : f32
  %f = linalg.fill ins(%three : f32) outs(%out : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<1024xf32>) outs(%f : tensor<f32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.addf %o, %v : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @difference(
// CHECK-NOT: scf.forall
func.func @difference(%x: tensor<1024xf32>, %out: tensor<f32>) -> tensor<f32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<1024xf32>) outs(%f : tensor<f32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.subf %o, %v : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// A sum whose count a call gives may be long: one for a work-group. A rest is
// always asked about.
// MORE-LABEL: func.func @open(
// CHECK-LABEL: func.func @open(
// CHECK-SAME: %{{.*}}: memref<?xf32>{{.*}}, %{{.*}}: memref<f32>{{.*}}, %[[N:.*]]: index
// CHECK: scf.forall (%{{.*}}) in (1) {
// CHECK: %[[SHARE:.*]] = arith.divui %[[COUNT:.*]], %c128
// CHECK: scf.for %{{.*}} = %c0 to %[[SHARE]] step %c1
// CHECK: arith.cmpi ult, %{{.*}}, %[[COUNT]]
// Of rows whose number is not known one is for a cluster.
// ROWS-LABEL: func.func @open(
// ROWS: gpu.barrier
// ROWS-LABEL: func.func @rows(
// ROWS: %[[GROUPS:.*]] = arith.ceildivui %{{.*}}, %c16
// ROWS: scf.forall (%{{.*}}) in (%[[GROUPS]]) {
// ROWS: arith.divui %{{.*}}, %c8
// ROWS: gpu.shuffle
// CHECK-LABEL: func.func @rows(
// CHECK-NOT: scf.forall
func.func @open(%x: tensor<?xf32>, %out: tensor<f32>, %n: index) -> tensor<f32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64, bp.symbols = ["n"]} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(j) -> (j)>, affine_map<(j) -> ()>], iterator_types = ["reduction"]} ins(%x : tensor<?xf32>) outs(%f : tensor<f32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.addf %o, %v : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}
func.func @rows(%x: tensor<?x?xf32>, %out: tensor<?xf32>, %m: index, %n: index) -> tensor<?xf32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64, bp.symbols = ["m", "n"]} {
  %zero = arith.constant 0.0 : f32
  %f = linalg.fill ins(%zero : f32) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x?xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%v: f32, %o: f32):
    %t = arith.addf %o, %v : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// Rows of one known axis among open ones, in another shape: sizes are read
// before all code that upstream patterns may give them to.
// ROWS-LABEL: func.func @between(
// ROWS: memref.dim
// ROWS: scf.forall
// ROWS-NOT: memref.dim %arg0
// ROWS: gpu.shuffle
func.func @between(%x: tensor<?x2x?x?xf32>, %out: tensor<?x2x?x1xf32>, %a: index, %b: index, %c: index) -> tensor<?x2x?x1xf32>
    attributes {bp.inputs = 1 : i64, bp.outputs = 1 : i64, bp.symbols = ["a", "b", "c"]} {
  %zero = arith.constant 0.0 : f32
  %o = tensor.collapse_shape %out [[0], [1], [2, 3]] : tensor<?x2x?x1xf32> into tensor<?x2x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<?x2x?xf32>) -> tensor<?x2x?xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j, k, l) -> (i, j, k, l)>, affine_map<(i, j, k, l) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%x : tensor<?x2x?x?xf32>) outs(%f : tensor<?x2x?xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %t = arith.addf %sum, %v : f32
    linalg.yield %t : f32
  } -> tensor<?x2x?xf32>
  %r = tensor.expand_shape %s [[0], [1], [2, 3]] output_shape [%a, 2, %b, 1] : tensor<?x2x?xf32> into tensor<?x2x?x1xf32>
  return %r : tensor<?x2x?x1xf32>
}
