// SPDX-License-Identifier: Apache-2.0
//
// The arguments and results of a function whose elements share bytes: a line of
// ceil(count / 2) bytes, the low half first. Between them each element is a
// byte of its own.
#include "sdk/lower/Lowering.h"

#include "sdk/dialect/Convert.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace bp;
using namespace bp::lower;
using backplane::Dim;

namespace {

Dim packedBytes(Type bpType) {
  return ceilDiv(product(dimsOf(bpType)), Dim(2));
}

Value indexConstant(ImplicitLocOpBuilder &body, int64_t number) {
  return arith::ConstantIndexOp::create(body, number);
}

Value wordConstant(ImplicitLocOpBuilder &body, int64_t number) {
  return arith::ConstantIntOp::create(body, number, 32);
}

/// The number of an element in row-major order.
Value positionOf(ImplicitLocOpBuilder &body, ValueRange indices,
                 const Sizes &sizes) {
  if (indices.empty())
    return indexConstant(body, 0);
  Value position = indices.front();
  for (size_t dim = 1; dim < sizes.size(); ++dim) {
    Value size =
        getValueOrCreateConstantIndexOp(body, body.getLoc(), sizes[dim]);
    position = arith::MulIOp::create(body, position, size);
    position = arith::AddIOp::create(body, position, indices[dim]);
  }
  return position;
}

/// The half of a byte that holds the element at `position`, extended.
Value halfOf(ImplicitLocOpBuilder &body, Value byte, Value position,
             const Element &element) {
  Value odd = arith::AndIOp::create(body, position, indexConstant(body, 1));
  odd = arith::IndexCastOp::create(body, body.getI32Type(), odd);
  Value above = arith::ShLIOp::create(body, odd, wordConstant(body, 2));
  Value left = arith::SubIOp::create(body, wordConstant(body, 28), above);
  Value word = arith::ExtUIOp::create(body, body.getI32Type(), byte);
  Value high = arith::ShLIOp::create(body, word, left);
  Value right = wordConstant(body, 28);
  Value number = element.isUnsigned || element.format
                     ? Value(arith::ShRUIOp::create(body, high, right))
                     : Value(arith::ShRSIOp::create(body, high, right));
  return arith::TruncIOp::create(body, element.storage, number);
}

/// A byte of two elements.
Value byteOf(ImplicitLocOpBuilder &body, Value low, Value high) {
  Type word = body.getI32Type();
  low = arith::ExtUIOp::create(body, word, low);
  low = arith::AndIOp::create(body, low, wordConstant(body, 15));
  high = arith::ExtUIOp::create(body, word, high);
  high = arith::ShLIOp::create(body, high, wordConstant(body, 4));
  Value both = arith::OrIOp::create(body, low, high);
  return arith::TruncIOp::create(body, body.getI8Type(), both);
}

/// The element of a line of `count`, or 0 behind its end.
Value elementOrZero(ImplicitLocOpBuilder &body, Value line, Value position,
                    Value count) {
  Value inside =
      arith::CmpIOp::create(body, arith::CmpIPredicate::slt, position, count);
  auto choice = scf::IfOp::create(
      body, inside,
      [&](OpBuilder &nested, Location loc) {
        Value element = tensor::ExtractOp::create(nested, loc, line, position);
        scf::YieldOp::create(nested, loc, element);
      },
      [&](OpBuilder &nested, Location loc) {
        Value zero = arith::ConstantIntOp::create(nested, loc, 0, 8);
        scf::YieldOp::create(nested, loc, zero);
      });
  return choice.getResult(0);
}

} // namespace

SmallVector<StringAttr> Lowering::boundaryDims(Type bpType) const {
  auto type = cast<RankedTensorType>(bpType);
  if (elementOf(bpType).packed)
    return {builder.getStringAttr(packedBytes(bpType).str())};
  if (auto encoding = dyn_cast_or_null<DimsAttr>(type.getEncoding()))
    return SmallVector<StringAttr>(encoding.getTexts());
  SmallVector<StringAttr> texts;
  for (int64_t size : type.getShape())
    texts.push_back(builder.getStringAttr(Twine(size)));
  return texts;
}

RankedTensorType Lowering::boundaryType(Type bpType) const {
  if (!elementOf(bpType).packed)
    return storageType(bpType);
  std::optional<int64_t> bytes = packedBytes(bpType).constant();
  return RankedTensorType::get(bytes.value_or(ShapedType::kDynamic),
                               builder.getI8Type());
}

Value Lowering::fromBoundary(Value argument, Type bpType) {
  Element element = elementOf(bpType);
  if (!element.packed)
    return argument;
  Sizes extents = sizes(bpType);
  auto body = [&](ImplicitLocOpBuilder &inner, ValueRange) {
    SmallVector<Value> indices;
    for (size_t dim = 0; dim < extents.size(); ++dim)
      indices.push_back(linalg::IndexOp::create(inner, dim));
    Value position = positionOf(inner, indices, extents);
    Value at = arith::ShRUIOp::create(inner, position, indexConstant(inner, 1));
    Value byte = tensor::ExtractOp::create(inner, argument, at);
    return SmallVector<Value>{halfOf(inner, byte, position, element)};
  };
  return parallel({}, empty(extents, element.storage), body);
}

Value Lowering::toBoundary(Value tensor, Type bpType) {
  if (!elementOf(bpType).packed)
    return tensor;
  MLIRContext *context = builder.getContext();
  Dim count = product(dimsOf(bpType));
  Sizes length = sizes(DimsAttr::get(context, {count}));
  Value line = reshape(tensor, dimsOf(bpType), {count}, length);
  Value end = sizeAsIndex(length.front());
  auto body = [&](ImplicitLocOpBuilder &inner, ValueRange) {
    Value byte = linalg::IndexOp::create(inner, 0);
    Value first = arith::MulIOp::create(inner, byte, indexConstant(inner, 2));
    Value second = arith::AddIOp::create(inner, first, indexConstant(inner, 1));
    Value low = tensor::ExtractOp::create(inner, line, first);
    Value high = elementOrZero(inner, line, second, end);
    return SmallVector<Value>{byteOf(inner, low, high)};
  };
  Sizes bytes = sizes(DimsAttr::get(context, {packedBytes(bpType)}));
  return parallel({}, empty(bytes, builder.getI8Type()), body);
}
