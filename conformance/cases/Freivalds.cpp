// SPDX-License-Identifier: Apache-2.0
#include "Freivalds.h"

#include "Data.h"
#include "ExactProduct.h"
#include "Integers.h"
#include "conformance/compare/Elements.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

namespace {

std::optional<WrongElement> check(const Op &op,
                                  const std::vector<Tensor> &inputs,
                                  const Tensor &y, uint64_t seed) {
  return op.name.starts_with("matmul") ? checkMatrixProduct(op, inputs, y, seed)
                                       : checkConvolution(op, inputs, y, seed);
}

int64_t valueOf(const Dim &dim, const SymbolValues &symbols) {
  auto value = dim.evaluate(symbols);
  return value ? *value : 0;
}

} // namespace

std::vector<Tensor> productInputs(const Unit &unit, const Case &testCase) {
  const Graph &model = unit.large->model;
  DType result = model.type(model.outputs[0].value).dtype;
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    const TensorType &type = model.type(model.inputs[i]);
    Tensor tensor{type.dtype, {}, {}};
    for (const Dim &dim : type.dims)
      tensor.dims.push_back(valueOf(dim, testCase.symbols));
    tensor.data.resize(packedBytes(type.dtype, tensor.elementCount()));
    int64_t terms =
        std::max<int64_t>(valueOf(unit.rules[0].terms, testCase.symbols), 1);
    auto range = exactIntegers(type.dtype, result, terms);
    fillIntegers(tensor, range.value_or(IntegerRange{1, 4}),
                 testCase.seed ^ hashText("input") * (i + 1));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Verdict judgeProduct(const Unit &unit, const Case &testCase,
                     const std::vector<Tensor> &outputs) {
  const Graph &model = unit.large->model;
  const TensorType &type = model.type(model.outputs[0].value);
  Expected form;
  form.dtype = type.dtype;
  for (const Dim &dim : type.dims)
    form.dims.push_back(valueOf(dim, testCase.symbols));
  const Tensor none, &y = outputs.empty() ? none : outputs[0];
  if (y.dtype != form.dtype || y.dims != form.dims ||
      y.data.size() != packedBytes(y.dtype, y.elementCount()))
    return compare(form, y, {});
  Verdict verdict;
  verdict.elements = y.elementCount();
  auto fault = check(model.ops[0], productInputs(unit, testCase), y,
                     randomBits(testCase.seed, 0x46726569));
  verdict.pass = !fault;
  if (!fault)
    return verdict;
  verdict.worst = fault->element;
  verdict.limitUsed = HUGE_VAL;
  verdict.got = textOf(y.dtype, loadBits(y, fault->element));
  verdict.want = fault->want ? std::to_string(*fault->want) : "an integer";
  verdict.reason = "not the exact product: element " +
                   std::to_string(fault->element) + " is " + verdict.got +
                   ", needs " + verdict.want;
  return verdict;
}

} // namespace backplane::conformance
