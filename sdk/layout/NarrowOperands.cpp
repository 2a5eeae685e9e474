// SPDX-License-Identifier: Apache-2.0
//
// Factors of i32 contractions that fit 8 bits are made 8-bit integers, which
// the contraction widens when it reads them: a quarter of the memory, and
// machines that multiply bytes see bytes.
#include "sdk/layout/AddWeight.h"
#include "sdk/layout/Layout.h"

#include "backplane/compiler.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"

#include <cstring>

using namespace mlir;
using namespace bp;

namespace {

/// What elements lie in, the ends included.
struct ValueBounds {
  int64_t low, high;
};

/// The narrowest 8-bit type that holds a range; none: it needs more.
std::optional<backplane::DType> byteFor(ValueBounds range) {
  if (range.low >= -128 && range.high <= 127)
    return backplane::DType::I8;
  if (range.low >= 0 && range.high <= 255)
    return backplane::DType::U8;
  return std::nullopt;
}

std::optional<ValueBounds> boundsOfCast(CastOp op) {
  Type from = getElementTypeOrSelf(op.getX().getType());
  if (from.isUnsignedInteger(8))
    return ValueBounds{0, 255};
  if (from.isInteger(8))
    return ValueBounds{-128, 127};
  return std::nullopt;
}

/// What the elements of an i32 lie in, as far as the ops before it tell.
std::optional<ValueBounds> boundsOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto cast = dyn_cast_or_null<CastOp>(op))
    return boundsOfCast(cast);
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return ValueBounds{number.getSExtValue(), number.getSExtValue()};
  if (!isa_and_nonnull<SubOp, AddOp>(op))
    return std::nullopt;
  auto a = boundsOf(op->getOperand(0)), b = boundsOf(op->getOperand(1));
  if (!a || !b)
    return std::nullopt;
  return isa<SubOp>(op) ? ValueBounds{a->low - b->high, a->high - b->low}
                        : ValueBounds{a->low + b->low, a->high + b->high};
}

/// Elements of a weight of 8-bit integers or i32.
size_t countOf(const backplane::Weight &weight) {
  return weight.data.size() * 8 / size_t(bitWidth(weight.type.dtype));
}

ValueBounds boundsOf(const backplane::Weight &weight) {
  ValueBounds range{0, 0};
  for (size_t i = 0; i < countOf(weight); ++i) {
    range.low = std::min<int64_t>(range.low, elementOf(weight, i));
    range.high = std::max<int64_t>(range.high, elementOf(weight, i));
  }
  return range;
}

struct Narrowing {
  Operation *contraction;
  backplane::WeightPool &pool;
  OpBuilder builder;

  Narrowing(Operation *contraction, backplane::WeightPool &pool)
      : contraction(contraction), pool(pool), builder(contraction) {}

  /// What is computed on the device of the contraction.
  template <typename Op> Value placed(Op op) {
    return onDeviceOf(contraction, op.getResult());
  }
  Value cast(Value value, backplane::DType dtype) {
    Type element = toType(builder.getContext(), dtype);
    return placed(CastOp::create(
        builder, contraction->getLoc(),
        mlir::cast<RankedTensorType>(value.getType()).clone(element), value,
        TypeAttr::get(element)));
  }
  /// The bytes of a weight; null: they do not fit, or there is none.
  FailureOr<Value> narrowWeight(WeightOp op);
  LogicalResult run(OpOperand &factor);
};

FailureOr<Value> Narrowing::narrowWeight(WeightOp op) {
  const backplane::Weight *weight = pool.find(std::string_view(op.getId()));
  auto dtype = weight ? bp::byteFor(*weight) : std::nullopt;
  if (!dtype)
    return Value();
  backplane::TensorType type = *toTensorType(op.getType());
  type.dtype = *dtype;
  backplane::Bytes bytes(countOf(*weight));
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = uint8_t(elementOf(*weight, i));
  auto narrow = addWeight(builder, op, type, std::move(bytes), pool);
  if (succeeded(narrow))
    onDeviceOf(op, *narrow);
  return narrow;
}

LogicalResult Narrowing::run(OpOperand &factor) {
  Value value = factor.get();
  if (auto cast = value.getDefiningOp<CastOp>(); cast && boundsOfCast(cast))
    return success();
  Value narrow;
  if (auto weight = value.getDefiningOp<WeightOp>()) {
    FailureOr<Value> found = narrowWeight(weight);
    if (failed(found))
      return failure();
    narrow = *found;
  } else if (auto range = boundsOf(value); range && byteFor(*range)) {
    narrow = cast(value, *byteFor(*range));
  }
  if (!narrow)
    return success();
  factor.set(cast(narrow, backplane::DType::I32));
  return success();
}

} // namespace

int32_t bp::elementOf(const backplane::Weight &weight, size_t i) {
  if (weight.type.dtype == backplane::DType::I8)
    return int8_t(weight.data[i]);
  if (weight.type.dtype == backplane::DType::U8)
    return weight.data[i];
  int32_t word;
  std::memcpy(&word, weight.data.data() + 4 * i, 4);
  return word;
}

std::optional<backplane::DType> bp::byteFor(const backplane::Weight &weight) {
  return ::byteFor(boundsOf(weight));
}

static bool readsIntegers(Operation *op) {
  auto conv = dyn_cast<ConvOp>(op);
  return (isa<MatmulOp>(op) || (conv && conv.getGroups() == 1)) &&
         getElementTypeOrSelf(op->getResult(0).getType()).isSignlessInteger(32);
}

/// Whether products alone read the value, in any shape and order, as their
/// right factor.
static bool isRightFactor(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    return isa<ReshapeOp, TransposeOp>(user)
               ? isRightFactor(user->getResult(0))
               : isa<MatmulOp>(user) && use.getOperandNumber() == 1;
  });
}

bool bp::readsBytes(Operation *op) {
  if (readsIntegers(op))
    return true;
  if (!isa<MatmulOp>(op))
    return false;
  Operation *factor = op->getOperand(1).getDefiningOp();
  while (isa_and_nonnull<ReshapeOp, TransposeOp>(factor))
    factor = factor->getOperand(0).getDefiningOp();
  return isWeightOfBytes(factor);
}

bool bp::isWeightOfBytes(Operation *op) {
  auto cast = dyn_cast_or_null<CastOp>(op);
  return cast && boundsOfCast(cast) &&
         getElementTypeOrSelf(cast.getType()).isF32() &&
         isRightFactor(cast.getResult());
}

bool bp::widensBytes(Operation *op) {
  return isByteWidening(op) || isWeightOfBytes(op);
}

bool bp::isByteWidening(Operation *op) {
  auto cast = dyn_cast_or_null<CastOp>(op);
  return cast && boundsOfCast(cast) &&
         getElementTypeOrSelf(cast.getType()).isSignlessInteger(32);
}

LogicalResult bp::narrowOperands(func::FuncOp main,
                                 ArrayRef<LayoutOptions> devices,
                                 backplane::WeightPool &pool) {
  SmallVector<Operation *> contractions;
  for (Operation &op : main.getOps())
    if (readsIntegers(&op) && !op.hasAttr(kernelAttr) &&
        devices[deviceOf(&op)].fusion & BP_FUSE_WIDENING)
      contractions.push_back(&op);
  for (Operation *op : contractions) {
    auto range = boundsOf(op->getOperand(0));
    auto narrow = range ? byteFor(*range) : std::nullopt;
    bool preferUnsigned = devices[deviceOf(op)].fusion & BP_FUSE_MIXED_SIGNS;
    FailureOr<Operation *> product = op;
    if (!narrow || (*narrow == backplane::DType::I8 && preferUnsigned))
      product = moveZeroPoint(op, preferUnsigned, pool);
    if (failed(product))
      return failure();
    for (unsigned i : {0u, 1u})
      if (failed(Narrowing(*product, pool).run((*product)->getOpOperand(i))))
        return failure();
  }
  return success();
}
