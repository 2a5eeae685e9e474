// SPDX-License-Identifier: Apache-2.0
//
// CumSum, CumProd, TopK and Hardmax.
#include "OnnxHandlers.h"
#include "ShapeInput.h"

namespace backplane::frontend {

void onnxCumulative(Node &node) {
  std::vector<int64_t> given = node.requireIntegers(1, "axis");
  if (node.ok() && given.size() != 1)
    node.reject("axis must be a scalar");
  ValueId x = node.value(0);
  if (!node.ok())
    return;
  size_t axis = node.axis(given[0], node.type(x).rank());
  node.out(0, node.op("cumulative", {x},
                      {{"kind", std::string(node.target())},
                       {"axis", static_cast<int64_t>(axis)},
                       {"exclusive", int64_t(node.flag("exclusive", false))},
                       {"reverse", int64_t(node.flag("reverse", false))}}));
}

void onnxTopK(Node &node) {
  // An order is always one of those that `sorted` 0 allows.
  node.flag("sorted", true);
  DataElement count = elementOf(node, 1, "k");
  ValueId x = node.value(0);
  size_t axis = node.axis(node.i64("axis", -1), node.type(x).rank());
  if (!node.ok())
    return;
  Dim size = node.type(x).dims[axis];
  Dim k = requireSize(node, count, "k", 0, size);
  if (!k.constant())
    node.require(min(k, size), k, "k must not be above the size of the axis");
  auto results =
      node.importer().add("top_k", {x},
                          {{"k", Dims{k}},
                           {"axis", static_cast<int64_t>(axis)},
                           {"largest", int64_t(node.flag("largest", true))}},
                          node.location());
  if (!results.ok())
    return node.fail(results.status());
  node.out(0, (*results)[0]);
  node.out(1, (*results)[1]);
}

/// One at the first of the highest elements, else zero.
void onnxHardmax(Node &node) {
  ValueId x = node.value(0);
  TensorType type = node.type(x);
  auto axis =
      static_cast<int64_t>(node.axis(node.i64("axis", -1), type.rank()));
  ValueId first = node.op(
      "arg_reduce", {x},
      {{"kind", std::string("max")}, {"axis", axis}, {"keep", int64_t(1)}});
  ValueId counter = node.counter(type.dims, static_cast<size_t>(axis));
  ValueId hit = node.compare("eq", counter, node.broadcast(first, type.dims));
  node.out(0, node.cast(hit, type.dtype));
}

} // namespace backplane::frontend
