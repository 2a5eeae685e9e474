// SPDX-License-Identifier: Apache-2.0
#include "Large.h"

#include "Freivalds.h"
#include "Judge.h"
#include "Repeats.h"

#include <algorithm>

namespace backplane::conformance {

namespace {

/// All inputs of the model.
std::vector<Tensor> modelInputs(const Unit &unit, const Case &testCase) {
  return testCase.method == Method::Products ? productInputs(unit, testCase)
                                             : repeatedInputs(unit, testCase);
}

bool isWeight(const Unit &unit, size_t input) {
  return std::ranges::count(unit.large->weights, input) > 0;
}

} // namespace

std::vector<Tensor> largeInputs(const Unit &unit, const Case &testCase) {
  std::vector<Tensor> inputs, all = modelInputs(unit, testCase);
  for (size_t i = 0; i < all.size(); ++i)
    if (!isWeight(unit, i))
      inputs.push_back(std::move(all[i]));
  return inputs;
}

std::vector<Verdict> judgeLarge(const Unit &unit, const Case &testCase,
                                const std::vector<Tensor> &outputs,
                                const Declaration &declaration) {
  if (testCase.method == Method::Products)
    return {judgeProduct(unit, testCase, outputs)};
  return judgeRepeats(unit, testCase, outputs, declaration);
}

Graph withNumbers(const Graph &graph, const SymbolValues &symbols) {
  std::map<std::string, Dim, std::less<>> numbers;
  for (const auto &[name, value] : symbols)
    numbers.emplace(name, value);
  auto bind = [&](Dims &dims) {
    for (Dim &dim : dims)
      dim = dim.substitute(numbers);
  };
  Graph result = graph;
  std::erase_if(result.symbols, [&](const Symbol &symbol) {
    return symbols.contains(symbol.name);
  });
  for (backplane::Value &value : result.values)
    bind(value.type.dims);
  for (Op &op : result.ops)
    for (auto &[name, attribute] : op.attributes)
      if (auto *dims = std::get_if<Dims>(&attribute))
        bind(*dims);
  for (DimAssertion &assertion : result.assertions) {
    assertion.lhs = assertion.lhs.substitute(numbers);
    assertion.rhs = assertion.rhs.substitute(numbers);
  }
  return result;
}

Result<Unit> withWeights(const Unit &unit) {
  Unit result = unit;
  Graph &graph = result.graph;
  std::vector<Tensor> all = modelInputs(unit, unit.cases.at(0));
  std::vector<Op> ops;
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (!isWeight(unit, i)) {
      inputs.push_back(graph.inputs[i]);
      continue;
    }
    const TensorType &type = graph.type(graph.inputs[i]);
    auto id = result.weights.add(type, std::move(all[i].data));
    if (!id)
      return id.status();
    Op op{.name = "weight", .results = {graph.inputs[i]}};
    op.attributes = {{"id", *id},
                     {"dtype", static_cast<int64_t>(type.dtype)},
                     {"dims", type.dims}};
    ops.push_back(std::move(op));
  }
  std::ranges::move(graph.ops, std::back_inserter(ops));
  graph.ops = std::move(ops);
  graph.inputs = std::move(inputs);
  return result;
}

} // namespace backplane::conformance
