// SPDX-License-Identifier: Apache-2.0
//
// MatMulInteger, QLinearMatMul, DynamicQuantizeLinear and BitShift.
#include "OnnxInteger.h"

#include "OnnxHandlers.h"
#include "OnnxMatMul.h"

#include <numeric>

namespace backplane::frontend {

ValueId zeroPoint(Node &node, size_t input, DType type, const Dim &size) {
  if (!node.has(input))
    return node.fill(type, 0, {});
  ValueId zero = node.value(input);
  Dims dims = node.type(zero).dims;
  if (!node.ok() || dims.empty() || dims == Dims{Dim(1)})
    return node.reshape(zero, {});
  if (dims.size() > 1)
    node.refuse("the zero point " + node.type(zero).str() +
                " has rank 2 or more, which is not supported");
  return node.withDims(zero, {size});
}

namespace {

/// A scale as f32 with these dims.
ValueId scaleOf(Node &node, size_t input, const Dims &dims, int64_t axis) {
  ValueId scale = node.cast(node.value(input), DType::F32);
  Dims own = node.type(scale).dims;
  if (!node.ok() || own.empty() || own == Dims{Dim(1)})
    return node.broadcast(node.reshape(scale, {}), dims);
  if (own.size() > 1) {
    node.refuse("the scale " + node.inputType(input).str() +
                " has rank 2 or more, which is not supported");
    return kNone;
  }
  ValueId fitted = node.withDims(scale, {dims[static_cast<size_t>(axis)]});
  return node.along(fitted, static_cast<size_t>(axis), dims);
}

ValueId saturated(Node &node, ValueId x, DType type) {
  double low = isSignedInteger(type) ? -128 : 0;
  x = node.op("clamp", {x}, {{"low", low}, {"high", low + 255}});
  return node.cast(x, type);
}

} // namespace

ValueId requantise(Node &node, ValueId sum, const Scales &scales) {
  Dims dims = node.type(sum).dims;
  DType type = node.inputType(scales.resultZero).dtype;
  if (node.ok() && type != DType::I8 && type != DType::U8)
    node.refuse("a result of " + std::string(name(type)) + " is not supported");
  if (!node.ok())
    return kNone;
  ValueId factor =
      node.op("mul", {scaleOf(node, scales.a, dims, scales.aAxis),
                      scaleOf(node, scales.b, dims, scales.bAxis)});
  factor = node.op("div", {factor, scaleOf(node, scales.result, dims, 0)});
  ValueId x = node.op("mul", {node.cast(sum, DType::F32), factor});
  ValueId zero = zeroPoint(node, scales.resultZero, type, Dim(1));
  zero = node.broadcast(node.cast(zero, DType::F32), dims);
  x = node.op("add", {node.op("round_even", {x}), zero});
  return saturated(node, x, type);
}

namespace {

/// The i32 product of inputs `a` and `b`; their zero points follow `gap` later.
ValueId integerProduct(Node &node, size_t a, size_t b, size_t aZero,
                       size_t bZero) {
  return broadcastMatMul(
      node, node.value(a), node.value(b), [&](ValueId x, ValueId y) {
        TensorType left = node.type(x), right = node.type(y);
        if (!node.ok())
          return kNone;
        ValueId zeros[] = {
            zeroPoint(node, aZero, left.dtype, left.dims[left.rank() - 2]),
            zeroPoint(node, bZero, right.dtype, right.dims.back())};
        return node.op("matmul_integer", {x, y, zeros[0], zeros[1]});
      });
}

} // namespace

void onnxMatMulInteger(Node &node) {
  node.out(0, integerProduct(node, 0, 1, 2, 3));
}

void onnxQLinearMatMul(Node &node) {
  ValueId sum = integerProduct(node, 0, 3, 2, 5);
  int64_t rank = static_cast<int64_t>(node.type(sum).rank());
  if (node.ok() && rank < 2)
    node.refuse("operands of rank 1 are not supported");
  node.out(0, requantise(node, sum, {1, 4, 6, 7, rank - 2, rank - 1}));
}

void onnxDynamicQuantizeLinear(Node &node) {
  ValueId x = node.value(0);
  TensorType type = node.type(x);
  if (node.ok() && type.dtype != DType::F32)
    node.reject("it needs f32, found " + type.str());
  std::vector<int64_t> axes(type.rank());
  std::iota(axes.begin(), axes.end(), 0);
  ValueId zero = node.fill(DType::F32, 0, {});
  ValueId high = node.op("max", {node.reduce("max", x, axes, false), zero});
  ValueId low = node.op("min", {node.reduce("min", x, axes, false), zero});
  ValueId range = node.fill(DType::F32, 255, {});
  ValueId scale = node.op("div", {node.op("sub", {high, low}), range});
  ValueId start = node.op("div", {node.op("sub", {zero, low}), scale});
  start = node.op("clamp", {start}, {{"low", 0.0}, {"high", 255.0}});
  start = node.op("round_even", {start});
  ValueId steps = node.op("div", {x, node.broadcast(scale, type.dims)});
  steps = node.op("add", {node.op("round_even", {steps}),
                          node.broadcast(start, type.dims)});
  node.out(0, saturated(node, steps, DType::U8));
  node.out(1, scale);
  node.out(2, node.cast(start, DType::U8));
}

void onnxBitShift(Node &node) {
  std::string direction = node.string("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return node.reject("attribute 'direction' is '" + direction +
                       "', but must be LEFT or RIGHT");
  node.out(0, node.binary(direction == "LEFT" ? "shl" : "shr", node.value(0),
                          node.value(1)));
}

} // namespace backplane::frontend
