// SPDX-License-Identifier: Apache-2.0
//
// Normalisations.
#include "OnnxHandlers.h"

#include <numeric>

namespace backplane::frontend {

namespace {

/// The default of ONNX, an f32.
double epsilonOf(Node &node) {
  return node.f64("epsilon", static_cast<double>(1e-5f));
}

void requireStash(Node &node) {
  if (node.i64("stash_type", 1) != 1)
    node.refuse("stash_type " + std::to_string(node.i64("stash_type", 1)) +
                " is not supported, only 1");
}

/// The dtype of the first inputs; of mixed ones f32, or f64 with one of f64.
DType commonFloat(Node &node, size_t inputs) {
  DType common = node.inputType(0).dtype;
  for (size_t i = 1; i < inputs; ++i)
    if (DType own = node.inputType(i).dtype; own != common)
      common =
          own == DType::F64 || common == DType::F64 ? DType::F64 : DType::F32;
  return common;
}

/// A rank-1 operand along axis 1.
ValueId alongChannels(Node &node, ValueId value, const Dims &dims) {
  if (node.ok() && node.type(value).rank() != 1)
    node.reject("an operand is " + node.type(value).str() +
                ", but must have rank 1");
  ValueId fitted = node.withDims(value, {dims[1]});
  return node.along(fitted, 1, dims);
}

/// x times scale, then plus bias.
ValueId scaled(Node &node, ValueId x, ValueId scale, ValueId bias) {
  return node.op("add", {node.op("mul", {x, scale}), bias});
}

/// 1 / sqrt(mean of x^2 along the axes + epsilon), with the dims of x.
ValueId rsqrtOfSquares(Node &node, ValueId x, std::vector<int64_t> axes) {
  ValueId mean = node.mean(node.op("mul", {x, x}), std::move(axes), true);
  ValueId sum = node.op("add", {mean, node.fillLike(mean, epsilonOf(node))});
  return node.broadcast(node.op("rsqrt", {sum}), Dims(node.type(x).dims));
}

} // namespace

void onnxBatchNormalization(Node &node) {
  if (node.i64("spatial", 1) != 1)
    node.refuse("spatial 0 is not supported");
  if (node.flag("training_mode", false))
    node.refuse("training_mode is not supported");
  ValueId x = node.value(0);
  TensorType type = node.type(x);
  DType dtype = commonFloat(node, 5);
  if (!node.requireRank(x, 2))
    return;
  // The number of channels that the parameters have, if that is static.
  Dims dims = type.dims;
  for (size_t i = 1; i < 5; ++i)
    if (node.inputType(i).rank() == 1 && node.inputType(i).dims[0].constant())
      dims[1] = node.inputType(i).dims[0];
  std::vector<ValueId> operands{node.cast(node.withDims(x, dims), dtype)};
  for (size_t i = 1; i < 5; ++i)
    operands.push_back(
        node.cast(node.withDims(node.value(i), {dims[1]}), dtype));
  ValueId result =
      node.op("batch_norm", operands, {{"epsilon", epsilonOf(node)}});
  node.out(0, node.cast(result, type.dtype));
}

namespace {

/// The mean and 1 / deviation that training keeps, in f32 at least.
void outStatistics(Node &node, ValueId x, size_t axis) {
  if (!node.isUsed(1) && !node.isUsed(2))
    return;
  if (bitWidth(node.type(x).dtype) < 32)
    x = node.cast(x, DType::F32);
  Dims dims = node.type(x).dims;
  std::vector<int64_t> axes(dims.size() - axis);
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(axis));
  ValueId mean = node.mean(x, axes, true);
  node.out(1, mean);
  ValueId centred = node.op("sub", {x, node.broadcast(mean, dims)});
  ValueId square = node.mean(node.op("mul", {centred, centred}), axes, true);
  ValueId sum =
      node.op("add", {square, node.fillLike(square, epsilonOf(node))});
  node.out(2, node.op("rsqrt", {sum}));
}

} // namespace

void onnxLayerNormalization(Node &node) {
  requireStash(node);
  ValueId x = node.value(0);
  TensorType type = node.type(x);
  size_t axis = node.axis(node.i64("axis", -1), type.rank());
  if (!node.ok())
    return;
  Dims inner(type.dims.begin() + axis, type.dims.end());
  ValueId scale = node.broadcast(node.value(1), inner);
  ValueId bias = node.has(2) ? node.broadcast(node.value(2), inner)
                             : node.fill(type.dtype, 0, inner);
  node.out(0, node.op("layer_norm", {x, scale, bias},
                      {{"axis", static_cast<int64_t>(axis)},
                       {"epsilon", epsilonOf(node)}}));
  outStatistics(node, x, axis);
}

void onnxInstanceNormalization(Node &node) {
  node.roundOnce();
  ValueId x = node.value(0);
  Dims dims = node.type(x).dims;
  if (!node.requireRank(x, 3))
    return;
  std::vector<int64_t> axes(dims.size() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  ValueId mean = node.broadcast(node.mean(x, axes, true), dims);
  ValueId centred = node.op("sub", {x, mean});
  ValueId normal =
      node.op("mul", {centred, rsqrtOfSquares(node, centred, axes)});
  node.out(0, scaled(node, normal, alongChannels(node, node.value(1), dims),
                     alongChannels(node, node.value(2), dims)));
}

namespace {

/// The op of the graph, for operands of one dtype.
void outRmsNorm(Node &node) {
  ValueId x = node.value(0);
  Dims dims = node.type(x).dims;
  size_t axis = node.axis(node.i64("axis", -1), dims.size());
  if (!node.ok())
    return;
  Dims inner(dims.begin() + static_cast<ptrdiff_t>(axis), dims.end());
  ValueId scale = node.broadcast(node.value(1), inner);
  node.out(0, node.op("rms_norm", {x, scale},
                      {{"axis", static_cast<int64_t>(axis)},
                       {"epsilon", epsilonOf(node)}}));
}

} // namespace

void onnxRmsNormalization(Node &node) {
  requireStash(node);
  DType result = node.inputType(1).dtype;
  if (result == node.inputType(0).dtype)
    return outRmsNorm(node);
  DType common = commonFloat(node, 2);
  ValueId x = node.cast(node.value(0), common);
  Dims dims = node.type(x).dims;
  size_t axis = node.axis(node.i64("axis", -1), dims.size());
  if (!node.ok())
    return;
  std::vector<int64_t> axes(dims.size() - axis);
  std::iota(axes.begin(), axes.end(), static_cast<int64_t>(axis));
  ValueId normal = node.op("mul", {x, rsqrtOfSquares(node, x, axes)});
  Dims inner(dims.begin() + axis, dims.end());
  ValueId scale = node.broadcast(node.cast(node.value(1), common), inner);
  node.out(0, node.cast(node.binary("mul", normal, scale), result));
}

} // namespace backplane::frontend
