// SPDX-License-Identifier: Apache-2.0
//
// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: classes lie along
// axis 1 of the scores, labels have all other axes.
#include "OnnxHandlers.h"

namespace backplane::frontend {

namespace {

Dims withoutClasses(Dims dims) {
  dims.erase(dims.begin() + 1);
  return dims;
}

/// The element of x that each label names; -1, which is reported, where the
/// label is no class.
ValueId atLabels(Node &node, ValueId x, ValueId labels) {
  Dims dims = node.type(x).dims, outer = withoutClasses(dims);
  std::vector<int64_t> classesLast = {0};
  for (size_t i = 2; i < dims.size(); ++i)
    classesLast.push_back(static_cast<int64_t>(i));
  classesLast.push_back(1);
  Dims flat = {product(outer)};
  ValueId index = node.reshape(labels, flat);
  ValueId classes = node.fillDim(DType::I64, dims[1], flat);
  ValueId isClass = node.op(
      "and", {node.compare("ge", index, node.fillInteger(DType::I64, 0, flat)),
              node.compare("lt", index, classes)});
  ValueId row = node.op("mul", {node.counter(flat, 0), classes});
  ValueId position =
      node.op("select", {isClass, node.op("add", {row, index}),
                         node.fillInteger(DType::I64, -1, flat)});
  ValueId rows = node.reshape(node.transpose(x, classesLast), {product(dims)});
  return node.reshape(
      node.op("gather", {rows, position}, {{"axis", int64_t(0)}}), outer);
}

/// The mean, weighted where there are weights, the sum, or the losses.
ValueId reduced(Node &node, ValueId loss, ValueId weights) {
  std::string reduction = node.string("reduction", "mean");
  if (reduction == "none")
    return loss;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < node.type(loss).rank(); ++i)
    axes.push_back(static_cast<int64_t>(i));
  if (reduction == "sum")
    return node.reduce("sum", loss, axes, false);
  if (reduction != "mean")
    node.reject("attribute 'reduction' is '" + reduction +
                "', but must be none, sum or mean");
  if (weights == kNone)
    return node.mean(loss, axes, false);
  return node.op("div", {node.reduce("sum", loss, axes, false),
                         node.reduce("sum", weights, axes, false)});
}

/// Weights of the labels; kNone where each counts as 1.
ValueId weightsOf(Node &node, ValueId x, ValueId labels) {
  if (!node.has(2))
    return kNone;
  ValueId weights = node.withDims(node.value(2), {node.type(x).dims[1]});
  return node.op("gather", {weights, labels}, {{"axis", int64_t(0)}});
}

/// The loss of logarithms of probabilities.
ValueId lossOf(Node &node, ValueId x) {
  if (node.ok() && node.type(x).rank() < 2)
    node.reject("the scores " + node.type(x).str() + " need rank 2 or more");
  if (!node.ok())
    return kNone;
  Dims outer = withoutClasses(node.type(x).dims);
  ValueId labels = node.cast(node.withDims(node.value(1), outer), DType::I64);
  ValueId ignored = kNone;
  if (node.hasAttribute("ignore_index")) {
    ignored = node.compare(
        "eq", labels,
        node.fillInteger(DType::I64, node.i64("ignore_index", 0), outer));
    labels = node.op("select",
                     {ignored, node.fillInteger(DType::I64, 0, outer), labels});
  }
  ValueId loss = node.op("neg", {atLabels(node, x, labels)});
  ValueId weights = weightsOf(node, x, labels);
  if (weights != kNone)
    loss = node.op("mul", {loss, weights});
  if (ignored == kNone)
    return reduced(node, loss, weights);
  ValueId zero = node.fillLike(loss, 0);
  if (weights == kNone)
    weights = node.fillLike(loss, 1);
  return reduced(node, node.op("select", {ignored, zero, loss}),
                 node.op("select", {ignored, zero, weights}));
}

} // namespace

void onnxNegativeLogLikelihoodLoss(Node &node) {
  node.roundOnce();
  node.out(0, lossOf(node, node.value(0)));
}

void onnxSoftmaxCrossEntropyLoss(Node &node) {
  node.roundOnce();
  ValueId logarithms =
      node.op("log_softmax", {node.value(0)}, {{"axis", int64_t(1)}});
  node.out(0, lossOf(node, logarithms));
  if (node.outputCount() > 1 && node.isUsed(1))
    node.out(1, logarithms);
}

} // namespace backplane::frontend
