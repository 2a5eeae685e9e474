// SPDX-License-Identifier: Apache-2.0
//
// Conv and ConvTranspose.
#include "OnnxHandlers.h"
#include "OnnxInteger.h"
#include "OnnxWindow.h"

#include <algorithm>

namespace backplane::frontend {

namespace {

struct Operands {
  ValueId x = kNone, w = kNone;
  Dims xDims, wDims;
  std::vector<int64_t> kernel;
  int64_t groups = 1;
};

/// Input and weights; the kernel's size must be static and be kernel_shape.
Operands readOperands(Node &node, size_t weights = 1) {
  Operands result{node.value(0), node.value(weights), {}, {}, {}, 1};
  result.xDims = node.type(result.x).dims;
  result.wDims = node.type(result.w).dims;
  result.groups = node.i64("group", 1);
  if (!node.ok())
    return result;
  if (result.groups < 1 || result.groups > (int64_t(1) << 30))
    node.reject("attribute 'group' is " + std::to_string(result.groups));
  if (result.xDims.size() < 3 || result.wDims.size() != result.xDims.size())
    node.reject("the input " + node.type(result.x).str() + " and the weights " +
                node.type(result.w).str() +
                " must have the same rank, at least 3");
  auto fixed = staticDims(result.wDims);
  if (!fixed && node.ok())
    node.refuse("the weights " + node.type(result.w).str() +
                " have a symbolic size");
  if (!node.ok())
    return result;
  result.kernel.assign(fixed->begin() + 2, fixed->end());
  if (node.hasAttribute("kernel_shape") &&
      node.i64s("kernel_shape") != result.kernel)
    node.reject("kernel_shape is not that of the weights " +
                node.type(result.w).str());
  return result;
}

/// Fixes the number of channels of x.
void fitChannels(Node &node, Operands &operands, const Dim &channels) {
  operands.xDims[1] = channels;
  operands.x = node.withDims(operands.x, operands.xDims);
}

/// Adds the bias, if there is one, of the dtype of the operands.
ValueId addBias(Node &node, ValueId result, DType operands, size_t input = 2) {
  if (!node.has(input))
    return result;
  ValueId bias = node.widened(node.value(input), operands, result);
  Dims dims = node.type(result).dims;
  if (node.ok() && node.type(bias).rank() != 1)
    node.reject("the bias is " + node.type(bias).str() +
                ", but must have rank 1");
  ValueId wide = node.along(bias, 1, dims);
  // A bias of one element must not spread over several channels.
  if (node.ok())
    node.require(dimOf(node.type(bias), 0), dims[1],
                 "the bias must have one element per output channel");
  return node.op("add", {result, wide});
}

/// A convolution and its bias, rounded once.
ValueId convolveWithBias(Node &node, std::string_view op,
                         const Operands &operands, Attributes attributes) {
  ValueId sums = node.contraction(op, {operands.x, operands.w},
                                  std::move(attributes), node.has(2));
  DType dtype = node.type(operands.w).dtype;
  return node.cast(addBias(node, sums, dtype), dtype);
}

} // namespace

void onnxConv(Node &node) {
  Operands operands = readOperands(node);
  if (!node.ok())
    return;
  fitChannels(node, operands, operands.wDims[1] * Dim(operands.groups));
  Window window = readWindow(node, operands.kernel);
  operands.x = padSame(node, window, operands.x, 0);
  Attributes attributes = window.attributes();
  attributes["groups"] = operands.groups;
  node.out(0, convolveWithBias(node, "conv", operands, std::move(attributes)));
}

// ---- ConvInteger, QLinearConv ----

namespace {

/// The i32 sums, with the weights and the zero points at these inputs.
ValueId integerConv(Node &node, size_t weights, size_t xZero, size_t wZero) {
  Operands operands = readOperands(node, weights);
  if (!node.ok())
    return kNone;
  fitChannels(node, operands, operands.wDims[1] * Dim(operands.groups));
  Window window = readWindow(node, operands.kernel);
  ValueId x = padSame(node, window, operands.x, 0);
  if (node.ok() && x != operands.x)
    node.refuse("auto_pad SAME with a symbolic size is not supported");
  DType xType = node.type(x).dtype, wType = node.type(operands.w).dtype;
  ValueId zeros[] = {zeroPoint(node, xZero, xType, Dim(1)),
                     zeroPoint(node, wZero, wType, operands.wDims[0])};
  Attributes attributes = window.attributes();
  attributes["groups"] = operands.groups;
  return node.op("conv_integer", {x, operands.w, zeros[0], zeros[1]},
                 std::move(attributes));
}

} // namespace

void onnxConvInteger(Node &node) { node.out(0, integerConv(node, 1, 2, 3)); }

void onnxQLinearConv(Node &node) {
  ValueId sum = addBias(node, integerConv(node, 3, 2, 5), DType::I32, 8);
  node.out(0, requantise(node, sum, {1, 4, 6, 7, 1, 1}));
}

// ---- ConvTranspose ----

namespace {

/// Splits a total cut into its two sides.
void splitCut(Window &window, size_t axis, int64_t total) {
  int64_t half = total / 2;
  bool upper = window.autoPad == "SAME_UPPER";
  window.low[axis] = upper ? half : total - half;
  window.high[axis] = upper ? total - half : half;
}

/// The cut that gives output_shape or, with SAME, stride times the input.
void fitOutput(Node &node, Window &window, const Dims &x,
               const std::vector<int64_t> &outputPadding) {
  std::vector<int64_t> wanted = node.i64s("output_shape");
  size_t count = window.kernel.size();
  bool given = node.hasAttribute("output_shape");
  if (given && wanted.size() != count)
    return node.reject("attribute 'output_shape' needs one entry per spatial "
                       "axis");
  for (size_t i = 0; i < count && (given || window.isSame()); ++i) {
    int64_t ends = outputPadding[i] + window.extent(i);
    Dim total = Dim(ends - window.strides[i]);
    if (given)
      total = (x[i + 2] - Dim(1)) * Dim(window.strides[i]) + Dim(ends) -
              Dim(wanted[i]);
    std::optional<int64_t> fixed = total.constant();
    if (!fixed)
      return node.refuse("output_shape with a symbolic input size is not "
                         "supported");
    if (*fixed < 0)
      return node.refuse("its output is larger than its windows reach");
    splitCut(window, i, *fixed);
  }
}

} // namespace

void onnxConvTranspose(Node &node) {
  Operands operands = readOperands(node);
  if (!node.ok())
    return;
  fitChannels(node, operands, operands.wDims[0]);
  Window window = readWindow(node, operands.kernel);
  std::vector<int64_t> padding = node.i64s("output_padding");
  if (padding.empty())
    padding.assign(operands.kernel.size(), 0);
  if (padding.size() != operands.kernel.size())
    node.reject("attribute 'output_padding' needs one entry per spatial axis");
  for (size_t i = 0; node.ok() && i < padding.size(); ++i)
    if (padding[i] < 0 ||
        padding[i] >= std::max(window.strides[i], window.dilations[i]))
      node.reject("attribute 'output_padding' has the entry " +
                  std::to_string(padding[i]) +
                  ", which must be below the stride or the dilation");
  if (node.ok())
    fitOutput(node, window, operands.xDims, padding);
  Attributes attributes = window.attributes();
  attributes["groups"] = operands.groups;
  attributes["output_padding"] = padding;
  node.out(0, convolveWithBias(node, "conv_transpose", operands,
                               std::move(attributes)));
}

} // namespace backplane::frontend
