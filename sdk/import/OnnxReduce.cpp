// SPDX-License-Identifier: Apache-2.0
//
// Reduce* and ArgMax, ArgMin.
#include "OnnxHandlers.h"

#include <algorithm>
#include <numeric>

namespace backplane::frontend {

namespace {

/// The axes, from the attribute or, in later opsets, from the input.
std::vector<int64_t> readAxes(Node &node, size_t rank) {
  std::vector<int64_t> given = node.i64s("axes");
  if (node.has(1)) {
    if (node.opset() < (node.opType() == "ReduceSum" ? 13 : 18))
      node.reject("axes are an attribute in opset " +
                  std::to_string(node.opset()));
    given = node.requireIntegers(1, "axes");
  }
  bool keepsAll = node.flag("noop_with_empty_axes", false);
  if (given.empty() && !keepsAll) {
    given.resize(rank);
    std::iota(given.begin(), given.end(), 0);
  }
  return node.axes(given, rank);
}

ValueId reduceKind(Node &node, std::string_view kind, ValueId x,
                   const std::vector<int64_t> &axes, bool keep) {
  if (kind == "mean")
    return axes.empty() ? x : node.mean(x, axes, keep);
  if (kind == "l1")
    return node.reduce("sum", node.op("abs", {x}), axes, keep);
  if (kind == "log_sum_exp")
    return node.op("log_sum_exp", {x},
                   {{"axes", axes}, {"keep", static_cast<int64_t>(keep)}});
  if (kind == "log_sum")
    return node.op("log", {node.reduce("sum", x, axes, keep)});
  if (kind == "l2" || kind == "sum_square") {
    ValueId sum = node.reduce("sum", node.op("mul", {x, x}), axes, keep);
    return kind == "l2" ? node.op("sqrt", {sum}) : sum;
  }
  bool isBool = node.type(x).dtype == DType::Bool;
  if (isBool && (kind == "max" || kind == "min"))
    kind = kind == "max" ? "or" : "and";
  return node.reduce(kind, x, axes, keep);
}

std::string_view binaryOf(std::string_view kind) {
  if (kind == "sum")
    return "add";
  if (kind == "prod")
    return "mul";
  return kind == "max" || kind == "min" ? kind : "";
}

/// All elements of a known rank-1 tensor combined.
std::optional<Known> reduceKnown(Node &node, const std::vector<int64_t> &axes,
                                 bool keep) {
  const Known *x = node.known(0);
  std::string_view op = binaryOf(node.target());
  if (!x || op.empty() || axes != std::vector<int64_t>{0} ||
      x->dims.size() != 1 || x->elements.empty())
    return std::nullopt;
  std::optional<Known> result = knownScalar(x->dtype, x->elements[0]);
  for (size_t i = 1; result && i < x->elements.size(); ++i)
    result = knownBinary(op, *result, knownScalar(x->dtype, x->elements[i]));
  if (result && keep)
    result->dims = {1};
  return result;
}

} // namespace

void onnxReduce(Node &node) {
  size_t rank = node.inputType(0).rank();
  std::vector<int64_t> axes = readAxes(node, rank);
  bool keep = node.flag("keepdims", true);
  if (!node.ok())
    return;
  if (auto result = reduceKnown(node, axes, keep))
    return node.out(0, *result);
  Dims dims;
  for (size_t i = 0; i < rank; ++i) {
    bool reduced = std::find(axes.begin(), axes.end(),
                             static_cast<int64_t>(i)) != axes.end();
    if (!reduced || keep)
      dims.push_back(reduced ? Dim(1) : node.inputType(0).dims[i]);
  }
  if (std::string_view kind = node.target();
      kind == "mean" || kind == "log_sum" || kind == "l2" ||
      kind == "sum_square")
    node.roundOnce();
  ValueId result = reduceKind(node, node.target(), node.value(0), axes, keep);
  node.out(0, node.reshape(result, dims));
}

void onnxArgReduce(Node &node) {
  ValueId x = node.value(0);
  size_t axis = node.axis(node.i64("axis", 0), node.type(x).rank());
  node.out(0,
           node.op("arg_reduce", {x},
                   {{"kind", std::string(node.target())},
                    {"axis", static_cast<int64_t>(axis)},
                    {"keep", int64_t(node.flag("keepdims", true))},
                    {"last", int64_t(node.flag("select_last_index", false))}}));
}

} // namespace backplane::frontend
