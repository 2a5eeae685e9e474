// SPDX-License-Identifier: Apache-2.0
//
// Random numbers: uniform, normal, Bernoulli, multinomial, and dropout.
#include "OnnxHandlers.h"
#include "RandomDraw.h"

#include <cmath>
#include <limits>

namespace backplane::frontend {

namespace {

/// factor * value + offset
ValueId moved(Node &node, ValueId value, double factor, double offset) {
  if (factor != 1)
    value = node.op("mul", {value, node.fillLike(value, factor)});
  if (offset != 0)
    value = node.op("add", {value, node.fillLike(value, offset)});
  return value;
}

/// low + (high - low) * uniform
ValueId between(Node &node, ValueId uniform, double low, double high) {
  double size = high - low;
  DType computed = node.type(uniform).dtype;
  if (computed == DType::F64 ||
      std::abs(size) <= std::numeric_limits<float>::max())
    return moved(node, uniform, size, low);
  // A difference that f32 cannot hold; that of the halves it can.
  return moved(node, moved(node, uniform, size / 2, low / 2), 2, 0);
}

/// Normal numbers by `mean` and `scale`, or uniform ones by `low` and `high`.
void drawFloats(Node &node, DType dtype, const Dims &dims) {
  if (!isFloat(dtype) || bitWidth(dtype) < 16)
    return node.refuse("random numbers of " + std::string(name(dtype)) +
                       " are not supported");
  bool isNormal = node.target() == "normal";
  const char *names[] = {isNormal ? "mean" : "low",
                         isNormal ? "scale" : "high"};
  double first = node.f64(names[0], 0), second = node.f64(names[1], 1);
  if (!std::isfinite(first) || !std::isfinite(second))
    return node.reject(std::string(names[0]) + " and " + names[1] +
                       " must be finite");
  RandomDraw draw(node);
  ValueId value =
      isNormal ? draw.normal(dtype, dims) : draw.uniform(dtype, dims);
  if (!node.ok())
    return;
  value = isNormal ? moved(node, value, second, first)
                   : between(node, value, first, second);
  node.out(0, node.cast(value, dtype));
}

} // namespace

void onnxRandom(Node &node) {
  if (!node.hasAttribute("shape"))
    node.reject("attribute 'shape' is missing");
  Dims dims;
  for (int64_t size : node.i64s("shape")) {
    if (size < 0)
      node.reject("shape has the negative size " + std::to_string(size));
    dims.push_back(Dim(size));
  }
  DType dtype = node.dtype("dtype", DType::F32);
  if (node.ok())
    drawFloats(node, dtype, dims);
}

void onnxRandomLike(Node &node) {
  TensorType like = node.inputType(0);
  DType dtype = node.dtype("dtype", like.dtype);
  if (node.ok())
    drawFloats(node, dtype, like.dims);
}

void onnxBernoulli(Node &node) {
  TensorType type = node.inputType(0);
  DType dtype = node.dtype("dtype", type.dtype);
  DType computed = computedAs(type.dtype);
  ValueId chance = node.cast(node.value(0), computed);
  if (!node.ok())
    return;
  ValueId drawn = RandomDraw(node).uniform(computed, type.dims);
  node.out(0, node.cast(node.compare("lt", drawn, chance), dtype));
}

void onnxMultinomial(Node &node) {
  TensorType type = node.inputType(0);
  DType dtype = node.dtype("dtype", DType::I32);
  int64_t samples = node.i64("sample_size", 1);
  if (node.ok() && (type.rank() != 2 || !isFloat(type.dtype)))
    node.reject("its input is " + type.str() +
                ", but must be floats of rank 2");
  if (samples < 0)
    node.reject("sample_size is " + std::to_string(samples));
  if (dtype != DType::I32 && dtype != DType::I64)
    node.reject("dtype must be int32 or int64");
  if (!node.ok())
    return;
  DType computed = computedAs(type.dtype);
  Dim batch = type.dims[0], classes = type.dims[1];
  ValueId x = node.cast(node.value(0), computed);
  ValueId top = node.broadcast(node.reduce("max", x, {1}, true), type.dims);
  ValueId weights = node.op("exp", {node.op("sub", {x, top})});
  // The class of a sample is the number of classes whose sums of weights, so
  // far, it reaches.
  ValueId sums = node.op("cumulative", {weights},
                         {{"kind", std::string("sum")}, {"axis", int64_t(1)}});
  ValueId all = node.part(sums, 1, classes - Dim(1), Dim(1));
  Dims drawn{batch, Dim(samples)}, pairs{batch, Dim(samples), classes};
  ValueId at = node.op("mul", {RandomDraw(node).uniform(computed, drawn),
                               node.broadcast(all, drawn)});
  ValueId reached = node.compare(
      "le", node.broadcast(node.reshape(sums, {batch, Dim(1), classes}), pairs),
      node.broadcast(node.reshape(at, {batch, Dim(samples), Dim(1)}), pairs));
  ValueId chosen = node.reduce("sum", node.cast(reached, dtype), {2}, false);
  ValueId last = node.fillDim(dtype, classes - Dim(1), drawn);
  node.out(0, node.op("min", {chosen, last}));
}

namespace {

/// The input as a scalar that was computed, or its default.
ValueId scalarInput(Node &node, size_t input, DType dtype, double otherwise) {
  if (!node.has(input))
    return node.fill(dtype, otherwise, {});
  ValueId value = node.cast(node.value(input), dtype);
  return node.ok() ? node.reshape(value, {}) : kNone;
}

/// Zeros with the probability `ratio`, the others times 1 / (1 - ratio): while
/// `training` holds.
void dropOut(Node &node) {
  TensorType type = node.inputType(0);
  DType computed = computedAs(type.dtype);
  node.roundOnce();
  ValueId x = node.value(0);
  ValueId ratio = scalarInput(node, 1, computed, 0.5);
  ValueId training = scalarInput(node, 2, DType::Bool, 0);
  ratio = node.op("select", {training, ratio, node.fill(computed, 0, {})});
  if (!node.ok())
    return;
  ValueId drawn = RandomDraw(node).uniform(computed, type.dims);
  ValueId kept = node.compare("ge", drawn, node.broadcast(ratio, type.dims));
  ValueId rest = node.op("sub", {node.fill(computed, 1, {}), ratio});
  ValueId scale = node.op("recip", {rest});
  ValueId scaled = node.op("mul", {x, node.broadcast(scale, type.dims)});
  node.out(0, node.op("select", {kept, scaled, node.fillLike(scaled, 0)}));
  node.out(1, kept);
}

} // namespace

void onnxDropout(Node &node) {
  std::optional<double> training = 0.0;
  if (node.has(2))
    training = node.constantNumber(2);
  if (!node.ok() || !training || *training != 0)
    return dropOut(node);
  node.outSame(0, 0);
  if (node.isUsed(1) && node.opset() >= 10)
    node.out(1, node.fill(DType::Bool, 1, Dims(node.inputType(0).dims)));
}

} // namespace backplane::frontend
