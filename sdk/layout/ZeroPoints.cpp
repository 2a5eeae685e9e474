// SPDX-License-Identifier: Apache-2.0
//
// Zero points of bytes that are multiplied by weights. Bytes less a zero point
// need nine bits; sum((x - z) * w) is sum(x * w) - z * sum(w), which needs
// eight, and the sums of weights are known here. i32 wraps, so both are equal.
// The padding of a convolution is z then, in a copy of the bytes. Signed bytes
// are unsigned ones less 128: x - z is (x + 128) - (z + 128).
#include "sdk/layout/AddWeight.h"
#include "sdk/layout/Layout.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

#include <cstring>

using namespace mlir;
using namespace bp;

namespace {

/// What an unsigned byte is more than the signed one of the same number.
constexpr int32_t kShift = 128;

/// The weight that a factor is, or that it widens.
WeightOp weightOf(Value factor) {
  if (auto cast = factor.getDefiningOp<CastOp>(); cast && isByteWidening(cast))
    factor = cast.getX();
  return factor.getDefiningOp<WeightOp>();
}

/// (x - zero) times a weight: [k, n] of a matmul, [n, k…] of a conv.
struct Product {
  Operation *contraction;
  Value bytes; ///< x
  Value zero;  ///< rank 0; null: `constant` is it
  int32_t constant = 0;
  const backplane::Weight *weight = nullptr;

  ConvOp conv() const { return dyn_cast<ConvOp>(contraction); }
  size_t columns() const {
    return size_t(*weight->type.dims[conv() ? 0 : 1].constant());
  }
  size_t columnOf(size_t element, size_t elements) const {
    return conv() ? element / (elements / columns()) : element % columns();
  }
};

/// Reads what is subtracted: one number for all elements.
bool readZero(Value subtracted, Product &product) {
  auto broadcast = subtracted.getDefiningOp<BroadcastOp>();
  if (broadcast &&
      cast<RankedTensorType>(broadcast.getX().getType()).getRank() == 0) {
    product.zero = broadcast.getX();
    return true;
  }
  APInt number;
  if (!matchPattern(subtracted, m_ConstantInt(&number)))
    return false;
  product.constant = int32_t(number.getSExtValue());
  return true;
}

bool hasKnownShape(Operation *contraction, WeightOp weight) {
  auto type = cast<RankedTensorType>(weight.getType());
  if (type.getNumElements() == 0)
    return false;
  if (auto matmul = dyn_cast<MatmulOp>(contraction))
    return type.getRank() == 2 && !matmul.getTransposeB();
  return isa<ConvOp>(contraction);
}

/// Reads the left factor: bytes less a zero point, or bytes alone.
bool readBytes(Value factor, Product &product) {
  if (auto difference = factor.getDefiningOp<SubOp>()) {
    if (!readZero(difference.getB(), product))
      return false;
    factor = difference.getA();
  }
  auto widening = factor.getDefiningOp<CastOp>();
  if (!isByteWidening(widening))
    return false;
  product.bytes = widening.getX();
  return true;
}

std::optional<Product> match(Operation *op, backplane::WeightPool &pool) {
  Product product{op};
  WeightOp weight = weightOf(op->getOperand(1));
  if (!weight || !hasKnownShape(op, weight) ||
      !readBytes(op->getOperand(0), product))
    return std::nullopt;
  product.weight = pool.find(std::string_view(weight.getId()));
  if (!product.weight)
    return std::nullopt;
  return product;
}

bool isUnsigned(Value bytes) {
  return getElementTypeOrSelf(bytes.getType()).isUnsignedInteger();
}

/// The sum of each column, times the zero point where that is known.
backplane::Bytes correctionsOf(const Product &product) {
  SmallVector<uint32_t> sums(product.columns());
  auto count = size_t(*product.weight->type.elementCount().constant());
  for (size_t i = 0; i < count; ++i)
    sums[product.columnOf(i, count)] += uint32_t(elementOf(*product.weight, i));
  if (!product.zero)
    for (uint32_t &sum : sums)
      sum *= uint32_t(product.constant);
  backplane::Bytes bytes(sums.size() * 4);
  std::memcpy(bytes.data(), sums.data(), bytes.size());
  return bytes;
}

bool hasPadding(ConvOp conv) {
  auto some = [](int64_t size) { return size != 0; };
  return conv && (llvm::any_of(conv.getLow(), some) ||
                  llvm::any_of(conv.getHigh(), some));
}

class Rewrite {
public:
  Rewrite(Product &product)
      : builder(product.contraction), loc(product.contraction->getLoc()),
        product(product) {}

  /// x + 128, less a zero point that is 128 more.
  void makeUnsigned() {
    Value words = converted(product.bytes, builder.getI32Type());
    auto type = cast<RankedTensorType>(words.getType());
    auto shift =
        DenseElementsAttr::get(type, builder.getI32IntegerAttr(kShift));
    Value shifts = place(ConstantOp::create(
        builder, loc, type, shift, TypeAttr::get(type.getElementType()),
        dims(dimsOf(type))));
    product.bytes = converted(
        place(AddOp::create(builder, loc, type, words, shifts)),
        IntegerType::get(builder.getContext(), 8, IntegerType::Unsigned));
    product.constant += kShift;
  }

  /// The zero point as a byte of x; null: it may be none.
  Value zeroByte() {
    Type byte = getElementTypeOrSelf(product.bytes.getType());
    auto scalar = RankedTensorType::get({}, byte);
    if (product.zero) {
      auto cast = product.zero.getDefiningOp<CastOp>();
      return cast && cast.getX().getType() == scalar ? cast.getX() : Value();
    }
    int32_t low = byte.isUnsignedInteger() ? 0 : -128;
    if (product.constant < low || product.constant > low + 255)
      return {};
    auto value = builder.getIntegerAttr(byte, product.constant);
    return place(ConstantOp::create(builder, loc, scalar,
                                    DenseElementsAttr::get(scalar, value),
                                    TypeAttr::get(byte), dims({})));
  }

  /// x as i32, and around it the padding of the conv, as x is.
  Value padded(Value zero) {
    Value x = product.bytes;
    if (zero) {
      ConvOp conv = product.conv();
      backplane::TensorType type = *toTensorType(x.getType());
      backplane::Dims low(2), high(2);
      for (auto [before, after] : llvm::zip(conv.getLow(), conv.getHigh())) {
        type.dims[low.size()] =
            type.dims[low.size()] + backplane::Dim(before + after);
        low.emplace_back(before);
        high.emplace_back(after);
      }
      x = place(PadOp::create(builder, loc, toType(builder.getContext(), type),
                              x, zero, dims(low), dims(high)));
    }
    // A cast of its own, which the product can widen.
    return converted(x, builder.getI32Type());
  }

  /// The product of the bytes.
  Operation *multiply(Value zero) {
    Value bytes = padded(zero);
    Operation *made = builder.clone(*product.contraction);
    made->setOperand(0, bytes);
    if (auto conv = dyn_cast<ConvOp>(made)) {
      SmallVector<int64_t> none(conv.getLow().size());
      conv.setLow(none);
      conv.setHigh(none);
    }
    return made;
  }

  /// What the product of the bytes is too much.
  FailureOr<Value> correction(backplane::WeightPool &pool) {
    Operation *old = product.contraction;
    backplane::TensorType type{backplane::DType::I32,
                               {backplane::Dim(int64_t(product.columns()))}};
    auto sums = addWeight(builder, old, type, correctionsOf(product), pool);
    if (failed(sums))
      return failure();
    place(*sums);
    auto result = cast<RankedTensorType>(old->getResult(0).getType());
    DimsAttr whole = dims(dimsOf(result));
    int64_t axis = product.conv() ? 1 : result.getRank() - 1;
    Value all =
        place(BroadcastOp::create(builder, loc, *sums, whole, ArrayRef{axis}));
    if (!product.zero)
      return all;
    Value zero = place(BroadcastOp::create(builder, loc, product.zero, whole,
                                           ArrayRef<int64_t>()));
    return place(MulOp::create(builder, loc, all, zero));
  }

  Value subtract(Value bytes, Value correction) {
    return place(SubOp::create(builder, loc, bytes, correction));
  }

private:
  Value converted(Value value, Type element) {
    auto type = cast<RankedTensorType>(value.getType()).clone(element);
    return place(
        CastOp::create(builder, loc, type, value, TypeAttr::get(element)));
  }
  /// On the device of the contraction.
  Value place(Value value) { return onDeviceOf(product.contraction, value); }
  DimsAttr dims(const backplane::Dims &of) {
    return DimsAttr::get(builder.getContext(), of);
  }

  OpBuilder builder;
  Location loc;
  Product &product;
};

/// The product of the bytes as they are, less its correction; gives the new
/// product, or the old one where the padding has no bytes.
FailureOr<Operation *> rewrite(Product product, bool makeUnsigned,
                               backplane::WeightPool &pool) {
  Operation *old = product.contraction;
  Rewrite rewrite(product);
  if (makeUnsigned)
    rewrite.makeUnsigned();
  Value zero;
  if (hasPadding(product.conv()) && !(zero = rewrite.zeroByte()))
    return old;
  Operation *made = rewrite.multiply(zero);
  FailureOr<Value> correction = rewrite.correction(pool);
  if (failed(correction))
    return failure();
  Value result = rewrite.subtract(made->getResult(0), *correction);
  Operation *difference = old->getOperand(0).getDefiningOp();
  old->replaceAllUsesWith(ValueRange(result));
  old->erase();
  if (difference->use_empty())
    difference->erase();
  return made;
}

} // namespace

FailureOr<Operation *> bp::moveZeroPoint(Operation *contraction,
                                         bool preferUnsigned,
                                         backplane::WeightPool &pool) {
  auto product = match(contraction, pool);
  if (!product)
    return contraction;
  bool isDifference = isa<SubOp>(contraction->getOperand(0).getDefiningOp());
  bool makeUnsigned = preferUnsigned && !isUnsigned(product->bytes) &&
                      !product->zero &&
                      byteFor(*product->weight) == backplane::DType::I8;
  if (!isDifference && !makeUnsigned)
    return contraction;
  return rewrite(*product, makeUnsigned, pool);
}
