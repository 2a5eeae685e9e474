// SPDX-License-Identifier: Apache-2.0
//
// QuantizeLinear and DequantizeLinear, per tensor, per axis and per block,
// spelled out: the optimizer finds the pattern again.
#include "OnnxHandlers.h"

#include <cmath>

namespace backplane::frontend {

namespace {

/// Repeats each element `block` times along an axis, which is cut to `size`.
ValueId repeated(Node &node, ValueId value, size_t axis, const Dim &block,
                 const Dim &size) {
  Dims own = node.type(value).dims, split = own, joined = own;
  split.insert(split.begin() + static_cast<ptrdiff_t>(axis) + 1, block);
  joined[axis] = own[axis] * block;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < own.size(); ++i)
    axes.push_back(static_cast<int64_t>(i <= axis ? i : i + 1));
  value = node.op("broadcast", {value}, {{"dims", split}, {"axes", axes}});
  value = node.reshape(value, joined);
  return joined[axis] == size ? value : node.part(value, axis, Dim(0), size);
}

/// A parameter with one element per `block` elements of x along an axis.
ValueId blocked(Node &node, ValueId value, int64_t block, const Dims &dims) {
  Dims own = node.type(value).dims;
  if (node.ok() && own.size() != dims.size())
    node.reject("a parameter of blocks has rank " + std::to_string(own.size()) +
                ", but the input has rank " + std::to_string(dims.size()));
  size_t axis = node.axis(node.i64("axis", 1), dims.size());
  if (!node.ok())
    return kNone;
  Dims wanted = dims;
  wanted[axis] = ceilDiv(dims[axis], Dim(block));
  ValueId fitted = node.withDims(value, wanted);
  if (!node.ok())
    return kNone;
  // A block that is longer than the axis takes no memory beyond the axis.
  Dim length = min(dims[axis], Dim(block));
  return repeated(node, fitted, axis, length, dims[axis]);
}

/// A scale or zero point as f32 or i32, with the dims of x.
ValueId parameter(Node &node, size_t input, DType type, const Dims &dims) {
  ValueId value = node.cast(node.value(input), type);
  if (int64_t block = node.i64("block_size", 0); node.ok() && block != 0)
    return blocked(node, value, block, dims);
  Dims own = node.type(value).dims;
  if (!node.ok() || own.empty() || own == Dims{Dim(1)})
    return node.broadcast(node.reshape(value, {}), dims);
  if (own.size() != 1) {
    node.refuse("the parameter " + node.inputType(input).str() +
                " has rank 2 or more, which is not supported");
    return kNone;
  }
  size_t axis = node.axis(node.i64("axis", 1), dims.size());
  if (!node.ok())
    return kNone;
  ValueId fitted = node.withDims(value, {dims[axis]});
  return node.op(
      "broadcast", {fitted},
      {{"dims", dims}, {"axes", std::vector<int64_t>{int64_t(axis)}}});
}

void requirePlain(Node &node) {
  int64_t block = node.i64("block_size", 0);
  if (node.ok() && (block < 0 || block > kMaxElements))
    node.reject("the block_size " + std::to_string(block) +
                " must be at least 0 and at most 2^46");
  if (node.i64("precision", 0) != 0)
    node.refuse("attribute 'precision' is not supported");
  DType scale = node.inputType(1).dtype;
  if (node.ok() && scale != DType::F32 && scale != DType::F16 &&
      scale != DType::BF16 && scale != DType::F8E8M0FNU)
    node.refuse("a scale of " + node.inputType(1).str() + " is not supported");
}

/// The dtype of attribute output_dtype, or another where it is 0.
DType outputType(Node &node, DType otherwise) {
  return node.i64("output_dtype", 0) == 0
             ? otherwise
             : node.dtype("output_dtype", otherwise);
}

bool isQuantizedFloat(DType dtype) {
  return isStoredFloat(dtype) && dtype != DType::F8E8M0FNU;
}

} // namespace

void onnxDequantizeLinear(Node &node) {
  requirePlain(node);
  DType result = outputType(node, node.inputType(1).dtype);
  TensorType type = node.inputType(0);
  bool integer = isSignedInteger(type.dtype) || isUnsignedInteger(type.dtype);
  bool isStored = isQuantizedFloat(type.dtype);
  bool isWide = bitWidth(type.dtype) > 32 || type.dtype == DType::U32;
  if (node.ok() && (!(integer || isStored) || isWide))
    node.refuse("an input of " + type.str() + " is not supported");
  if (node.ok() && result == DType::F8E8M0FNU)
    node.reject("a scale of f8e8m0fnu needs attribute output_dtype");
  if (node.ok() && node.has(2) && node.inputType(2).dtype != type.dtype)
    node.reject("the zero point is " + node.inputType(2).str() +
                ", but the input " + type.str());
  DType inner = isStored ? DType::F32 : DType::I32;
  ValueId x = node.cast(node.value(0), inner);
  if (node.has(2))
    x = node.op("sub", {x, parameter(node, 2, inner, type.dims)});
  ValueId scale = parameter(node, 1, DType::F32, type.dims);
  ValueId product = node.op("mul", {node.cast(x, DType::F32), scale});
  node.out(0, node.cast(product, result));
}

void onnxQuantizeLinear(Node &node) {
  requirePlain(node);
  DType zero = node.has(2) ? node.inputType(2).dtype : DType::Invalid;
  DType result = outputType(node, node.has(2) ? zero : DType::U8);
  TensorType type = node.inputType(0);
  if (node.ok() && node.has(2) && result != zero)
    node.reject("output_dtype and the zero point differ");
  bool narrow = bitWidth(result) <= 16 &&
                (isSignedInteger(result) || isUnsignedInteger(result));
  bool isStored = isQuantizedFloat(result);
  if (node.ok() && !narrow && !isStored)
    node.refuse("quantisation to " + std::string(name(result)) +
                " is not supported");
  if (node.ok() && (!isFloat(type.dtype) || type.dtype == DType::F64))
    node.refuse("quantisation of " + type.str() + " is not supported");
  if (!node.ok())
    return;
  ValueId x = node.cast(node.value(0), DType::F32);
  ValueId scale = parameter(node, 1, DType::F32, type.dims);
  x = node.op("div", {x, scale});
  if (isStored) {
    if (node.has(2))
      x = node.op("add", {x, parameter(node, 2, DType::F32, type.dims)});
    return node.out(0, castToStored(node, x, result));
  }
  x = node.op("round_even", {x});
  if (node.has(2))
    x = node.op("add", {x, parameter(node, 2, DType::F32, type.dims)});
  bool isSigned = isSignedInteger(result);
  double span = std::ldexp(1.0, static_cast<int>(bitWidth(result)));
  double low = isSigned ? -span / 2 : 0;
  x = node.op("clamp", {x}, {{"low", low}, {"high", low + span - 1}});
  node.out(0, node.cast(x, result));
}

} // namespace backplane::frontend
