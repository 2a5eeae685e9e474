// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s --split-input-file --verify-diagnostics

func.func @shape(%a: tensor<2x64xf32>, %b: tensor<32x8xf32>) {
  // expected-error @+2 {{k dims are equal}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = bp.matmul %a, %b : (tensor<2x64xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @result(%a: tensor<2xf32>) {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{inferred type(s) 'tensor<2xf32>' are incompatible with return type(s)}}
  %0 = bp.neg %a : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

// expected-error @+1 {{#bp.dims has 1 entries for rank 2}}
func.func private @rank(tensor<?x2xf32, #bp.dims<["n"]>>)

// -----

// expected-error @+1 {{#bp.dims says "3" where the shape says otherwise}}
func.func private @size(tensor<2xf32, #bp.dims<["3"]>>)

// -----

func.func @unnamed(%a: tensor<?xf32>) {
  // expected-error @+2 {{a dynamic tensor needs #bp.dims to name its sizes}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = bp.neg %a : (tensor<?xf32>) -> tensor<?xf32>
  return
}
