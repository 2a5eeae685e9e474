// SPDX-License-Identifier: Apache-2.0
//
// Mutants 1 to 12 and those of blocks: the wrong element is read or written.
#include "Contract.h"

#include "sdk/graph/OpTable.h"

#include <algorithm>

namespace backplane::mutants {

using namespace conformance;

namespace {

template <bool ContractRules::*Rule> bool withRule(const Call &call) {
  ContractRules rules;
  rules.*Rule = true;
  return contract(call, rules);
}

/// 1
bool transposeSquare(const Call &call) {
  if (call.is("matmul"))
    return withRule<&ContractRules::readsRowMajor>(call);
  if (!call.is("transpose") || call.in(0).dims != call.out().dims ||
      call.in(0).dims.size() < 2)
    return false;
  call.out().data = call.in(0).data;
  return true;
}

/// 2
bool leaveTail(const Call &call) {
  const OpSpec *spec = findOp(call.op.name);
  if (!spec || !spec->elementwise)
    return false;
  // A copy: run writes the result.
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  Tensor before = call.out();
  (void)call.run();
  size_t count = before.elementCount();
  for (size_t i = count / 8 * 8; i < count; ++i)
    storeBits(call.out(), i, loadBits(before, i));
  return true;
}

/// 5
bool walkBroadcast(const Call &call) {
  if (!call.is("broadcast"))
    return false;
  const Tensor &x = call.in(0);
  std::vector<int64_t> axes = call.op.i64s("axes");
  Sizes strides = stridesOf(x.dims), map(call.out().dims.size());
  for (size_t i = 0; i < axes.size(); ++i)
    map[size_t(axes[i])] = strides[i]; // 0 is right where x has size 1
  std::vector<size_t> from = affine(call.out().dims, 0, map);
  for (size_t i = 0; i < from.size() && x.elementCount() > 0; ++i)
    storeBits(call.out(), i,
              loadBits(x, std::min(from[i], x.elementCount() - 1)));
  return true;
}

/// 6
bool clampIndices(const Call &call) {
  if (!call.is("gather") && !call.is("scatter"))
    return false;
  Tensor indices = call.in(1);
  int64_t size = call.in(0).dims[size_t(call.op.i64("axis"))];
  for (size_t i = 0; size > 0 && i < indices.elementCount(); ++i)
    setInteger(indices, i,
               std::clamp<int64_t>(integerAt(indices, i), 0, size - 1));
  (void)call.runWith(1, indices);
  return true;
}

/// 8
bool writeEmpty(const Call &call) {
  if (call.results.empty() || call.out().elementCount() != 0)
    return false;
  (void)call.run();
  call.out().data.assign(64, 0x3C);
  return true;
}

// ---- blocks ----

/// What the oracle computes of an op with these attributes and operands, put
/// into the result of the call.
bool computeAs(const Call &call, const Attributes &attributes,
               const std::vector<Tensor> &inputs) {
  Graph graph;
  std::vector<ValueId> operands;
  for (const Tensor &input : inputs)
    operands.push_back(graph.addInput(
        "x", {input.dtype, Dims(input.dims.begin(), input.dims.end())}));
  auto results = graph.add(call.op.name, operands, attributes);
  if (!results)
    return false;
  graph.addOutput((*results)[0], "y");
  auto computed = evaluate(graph, inputs, {});
  if (!computed)
    return false;
  const std::vector<uint64_t> &bits = computed->front().bits;
  for (size_t i = 0; i < call.out().elementCount(); ++i)
    storeBits(call.out(), i, bits[i]);
  return true;
}

std::vector<Tensor> inputsOf(const Call &call) {
  std::vector<Tensor> inputs;
  for (const Tensor *operand : call.operands)
    inputs.push_back(*operand);
  return inputs;
}

/// The attributes with the sizes of the call for its symbols.
Attributes attributesOf(const Call &call) {
  Attributes attributes = call.op.attributes;
  if (call.is("unpack"))
    attributes["sizes"] = Dims(call.out().dims.begin(), call.out().dims.end());
  return attributes;
}

/// 79. What it makes has other dims, and as many elements.
bool dropOrder(const Call &call) {
  Attributes attributes = attributesOf(call);
  std::vector<Tensor> inputs = inputsOf(call);
  auto order = call.op.i64s("order");
  attributes.erase("order");
  if (call.is("unpack") && !order.empty()) {
    Sizes found = inputs[0].dims;
    for (size_t k = 0; k < order.size(); ++k)
      inputs[0].dims[size_t(order[k])] = found[k];
  }
  return computeAs(call, attributes, inputs);
}

/// 80
bool padWithZero(const Call &call) {
  std::vector<Tensor> inputs = inputsOf(call);
  inputs.resize(1);
  return computeAs(call, attributesOf(call), inputs);
}

/// 81
bool keepPadding(const Call &call) {
  Attributes attributes = attributesOf(call);
  std::vector<int64_t> axes = call.op.i64s("axes"),
                       tiles = call.op.i64s("tiles");
  Dims &sizes = std::get<Dims>(attributes.at("sizes"));
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim &size = sizes[size_t(axes[i])];
    size = ceilDiv(size, tiles[i]) * Dim(tiles[i]);
  }
  return computeAs(call, attributes, inputsOf(call));
}

/// 56
bool narrowOffsets(const Call &call) {
  const OpSpec *spec = findOp(call.op.name);
  if (!spec || !spec->elementwise || call.out().elementCount() <= 65536)
    return false;
  (void)call.run();
  for (size_t i = 65536; i < call.out().elementCount(); ++i)
    storeBits(call.out(), i, loadBits(call.out(), i & 65535));
  return true;
}

} // namespace

Runs indexingMutants() {
  return {{1, transposeSquare},
          {2, leaveTail},
          {3, withRule<&ContractRules::dropsLast>},
          {4, withRule<&ContractRules::repeatsBoundary>},
          {5, walkBroadcast},
          {6, clampIndices},
          {8, writeEmpty},
          {9, withRule<&ContractRules::flipsWindow>},
          {10, withRule<&ContractRules::ignoresDilation>},
          {11, withRule<&ContractRules::swapsPads>},
          {12, withRule<&ContractRules::shiftsGroups>},
          {56, narrowOffsets},
          {79, dropOrder},
          {80, padWithZero},
          {81, keepPadding}};
}

} // namespace backplane::mutants
