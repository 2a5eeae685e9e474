// SPDX-License-Identifier: Apache-2.0
#include "InPlace.h"

#include "sdk/graph/OpTable.h"

#include <algorithm>

namespace backplane {
namespace {

bool isElementwise(const Op &op) {
  const OpSpec *spec = findOp(op.name);
  return spec && spec->elementwise && spec->pure && op.regions.empty() &&
         op.results.size() == 1;
}

/// Whether all that depends on the input depends on it element by element. Ops
/// stand in execution order, so one pass sees every dependent value.
bool staysAtItsIndex(const Graph &graph, ValueId input) {
  std::set<ValueId> dependent = {input};
  for (const Op &op : graph.ops) {
    bool concerned = std::any_of(
        op.operands.begin(), op.operands.end(),
        [&](ValueId operand) { return dependent.contains(operand); });
    if (!concerned)
      continue;
    if (!isElementwise(op) ||
        graph.type(op.results[0]).dims != graph.type(input).dims)
      return false;
    dependent.insert(op.results[0]);
  }
  return true;
}

bool hasShapeOf(const TensorType &a, const TensorType &b) {
  unsigned bits = bitWidth(a.dtype);
  // Elements that share a byte cannot be read and written one by one.
  return a.dims == b.dims && bits == bitWidth(b.dtype) && bits >= 8;
}

} // namespace

std::vector<uint32_t> replaceableInputs(const Graph &dispatch) {
  std::vector<uint32_t> result;
  if (dispatch.outputs.size() != 1)
    return result;
  ValueId output = dispatch.outputs[0].value;
  for (uint32_t i = 0; i < dispatch.inputs.size(); ++i) {
    ValueId input = dispatch.inputs[i];
    if (input != output &&
        hasShapeOf(dispatch.type(input), dispatch.type(output)) &&
        staysAtItsIndex(dispatch, input))
      result.push_back(i);
  }
  return result;
}

} // namespace backplane
