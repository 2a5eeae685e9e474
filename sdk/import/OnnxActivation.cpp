// SPDX-License-Identifier: Apache-2.0
//
// Activation functions, Clip and Softmax.
#include "OnnxHandlers.h"

#include <cmath>
#include <limits>

namespace backplane::frontend {

namespace {

/// Attributes of ONNX are f32, and so are their defaults.
double asFloat(double value) {
  return static_cast<double>(static_cast<float>(value));
}

void requireFloat(Node &node) {
  if (!isFloat(node.inputType(0).dtype))
    node.reject("it needs floats, found " + node.inputType(0).str());
}

} // namespace

void onnxRelu(Node &node) {
  ValueId x = node.value(0);
  if (isFloat(node.type(x).dtype))
    return node.out(0, node.op("relu", {x}));
  node.out(0, node.op("max", {x, node.fillLike(x, 0)}));
}

void onnxActivation(Node &node) {
  node.out(0, node.op(node.target(), {node.value(0)}));
}

void onnxAlpha(Node &node) {
  double otherwise = node.opType() == "LeakyRelu" ? asFloat(0.01) : 1.0;
  node.out(0, node.op(node.target(), {node.value(0)},
                      {{"alpha", node.f64("alpha", otherwise)}}));
}

void onnxHardSigmoid(Node &node) {
  node.out(0, node.op("hard_sigmoid", {node.value(0)},
                      {{"alpha", node.f64("alpha", asFloat(0.2))},
                       {"beta", node.f64("beta", 0.5)}}));
}

void onnxGelu(Node &node) {
  std::string approximate = node.string("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return node.reject("attribute 'approximate' is '" + approximate +
                       "', but must be none or tanh");
  node.out(0, node.op("gelu", {node.value(0)}, {{"approximate", approximate}}));
}

void onnxSelu(Node &node) {
  double alpha = node.f64("alpha", 1.67326319217681884765625);
  double gamma = node.f64("gamma", 1.05070102214813232421875);
  node.out(0, node.op("selu", {node.value(0)},
                      {{"alpha", alpha}, {"gamma", gamma}}));
}

void onnxCelu(Node &node) {
  double alpha = node.f64("alpha", 1.0);
  if (alpha == 0)
    return node.reject("alpha is 0");
  node.out(0, node.op("celu", {node.value(0)}, {{"alpha", alpha}}));
}

void onnxPRelu(Node &node) {
  ValueId x = node.value(0);
  ValueId slope = node.broadcast(node.value(1), Dims(node.type(x).dims));
  node.out(0, node.op("prelu", {x, slope}));
}

void onnxThresholdedRelu(Node &node) {
  requireFloat(node);
  node.roundOnce();
  ValueId x = node.value(0);
  ValueId above = node.compare("gt", x, node.fillLike(x, node.f64("alpha", 1)));
  node.out(0, node.op("select", {above, x, node.fillLike(x, 0)}));
}

/// Beyond lambd in size: x moved towards 0 by bias; else 0.
void onnxShrink(Node &node) {
  requireFloat(node);
  double limit = node.f64("lambd", 0.5), bias = node.f64("bias", 0);
  node.roundOnce();
  ValueId x = node.value(0);
  ValueId offset = node.fillLike(x, bias), zero = node.fillLike(x, 0);
  ValueId below = node.compare("lt", x, node.fillLike(x, -limit));
  ValueId above = node.compare("gt", x, node.fillLike(x, limit));
  ValueId high = node.op("select", {above, node.op("sub", {x, offset}), zero});
  node.out(0, node.op("select", {below, node.op("add", {x, offset}), high}));
}

void onnxSwish(Node &node) {
  double alpha = node.f64("alpha", 1);
  if (alpha == 1)
    return node.out(0, node.op("silu", {node.value(0)}));
  requireFloat(node);
  node.roundOnce();
  ValueId x = node.value(0);
  ValueId scaled = node.op("mul", {x, node.fillLike(x, alpha)});
  node.out(0, node.op("mul", {x, node.op("sigmoid", {scaled})}));
}

void onnxSwiGLU(Node &node) {
  double alpha = node.f64("alpha", 1);
  requireFloat(node);
  node.roundOnce();
  ValueId x = node.value(0);
  ValueId other = node.withDims(node.value(1), Dims(node.inputType(0).dims));
  if (!node.ok())
    return;
  ValueId gate =
      node.op("sigmoid",
              {alpha == 1 ? x : node.op("mul", {x, node.fillLike(x, alpha)})});
  node.out(0, node.op("mul", {node.op("mul", {x, gate}), other}));
}

// ---- Clip ----

namespace {

/// A bound as the f64 attribute of clamp; absent when it does not fit.
std::optional<double> bound(Node &node, size_t input, double none) {
  if (!node.has(input))
    return none;
  std::optional<double> value = node.constantNumber(input);
  if (!value || std::isnan(*value))
    return std::nullopt;
  bool exact = isFloat(node.inputType(0).dtype) ||
               std::fabs(*value) <= 9007199254740992.0;
  return exact ? value : std::nullopt;
}

void clamp(Node &node, double low, double high) {
  node.out(0,
           node.op("clamp", {node.value(0)}, {{"low", low}, {"high", high}}));
}

bool clipKnown(Node &node) {
  std::optional<Known> result;
  if (node.known(0))
    result = *node.known(0);
  for (size_t i : {1, 2})
    if (result && node.has(i))
      result = node.known(i) ? knownBinary(i == 1 ? "max" : "min", *result,
                                           *node.known(i))
                             : std::nullopt;
  if (result)
    node.out(0, *result);
  return result.has_value();
}

} // namespace

void onnxClip(Node &node) {
  if (node.opset() < 11) {
    if (node.inputCount() > 1)
      return node.reject("bounds are attributes before opset 11");
    double limit = std::numeric_limits<float>::max();
    return clamp(node, node.f64("min", -limit), node.f64("max", limit));
  }
  for (size_t i : {1, 2})
    if (node.has(i) && node.inputType(i).rank() > 1)
      return node.reject("a bound must be a scalar, found " +
                         node.inputType(i).str());
  if (clipKnown(node))
    return;
  auto low = bound(node, 1, -HUGE_VAL), high = bound(node, 2, HUGE_VAL);
  for (size_t i : {1, 2})
    if (node.has(i) && node.inputType(i).dtype != node.inputType(0).dtype)
      return node.reject("a bound is " + node.inputType(i).str() +
                         ", but x is " + node.inputType(0).str());
  if (low && high)
    return clamp(node, *low, *high);
  ValueId x = node.value(0);
  Dims dims = node.type(x).dims;
  if (node.has(1))
    x = node.op("max", {x, node.broadcast(node.value(1), dims)});
  if (node.has(2))
    x = node.op("min", {x, node.broadcast(node.value(2), dims)});
  node.out(0, x);
}

// ---- Softmax, LogSoftmax ----

/// Before opset 13 all axes from `axis` on count as one.
void onnxSoftmax(Node &node) {
  bool flattens = node.opset() < 13;
  int64_t given = node.i64("axis", flattens ? 1 : -1);
  ValueId x = node.value(0);
  Dims dims = node.type(x).dims;
  bool last = flattens && given == static_cast<int64_t>(dims.size());
  size_t axis = last ? dims.size() : node.axis(given, dims.size());
  if (!node.ok())
    return;
  if (!flattens || axis + 1 == dims.size())
    return node.out(
        0, node.op(node.target(), {x}, {{"axis", static_cast<int64_t>(axis)}}));
  Dims flat{product(Dims(dims.begin(), dims.begin() + axis)),
            product(Dims(dims.begin() + axis, dims.end()))};
  ValueId result =
      node.op(node.target(), {node.reshape(x, flat)}, {{"axis", int64_t(1)}});
  node.out(0, node.reshape(result, dims));
}

} // namespace backplane::frontend
