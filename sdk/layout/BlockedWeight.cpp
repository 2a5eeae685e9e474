// SPDX-License-Identifier: Apache-2.0
#include "sdk/layout/BlockedWeight.h"

#include "sdk/dialect/Attributes.h"
#include "sdk/layout/AddWeight.h"

#include "backplane/compiler.h"

#include "mlir/IR/IRMapping.h"

#include <cstring>

using namespace mlir;
using namespace bp;
using backplane::Dim;
using backplane::Dims;

static Dims transposed(const Dims &dims, ArrayRef<int64_t> order) {
  Dims result;
  for (int64_t axis : order)
    result.push_back(dims[size_t(axis)]);
  return result;
}

namespace {

/// Copies elements of so many bytes in another order of axes.
template <size_t width> class Transposition {
public:
  Transposition(const Dims &dims, ArrayRef<int64_t> order,
                const uint8_t *source, uint8_t *target)
      : source_(source), target_(target) {
    std::vector<size_t> strides(dims.size(), width);
    for (size_t axis = dims.size() - 1; axis-- > 0;)
      strides[axis] = strides[axis + 1] * size_t(*dims[axis + 1].constant());
    for (int64_t axis : order) {
      sizes_.push_back(size_t(*dims[size_t(axis)].constant()));
      strides_.push_back(strides[size_t(axis)]);
    }
  }

  /// What lies at `offset` of the source and has this axis and those behind.
  void copy(size_t axis, size_t offset) {
    size_t size = sizes_[axis], stride = strides_[axis];
    if (axis + 1 < sizes_.size()) {
      for (size_t i = 0; i < size; ++i)
        copy(axis + 1, offset + i * stride);
      return;
    }
    if (stride == width)
      std::memcpy(target_, source_ + offset, size * width);
    else
      for (size_t i = 0; i < size; ++i)
        std::memcpy(target_ + i * width, source_ + offset + i * stride, width);
    target_ += size * width;
  }

private:
  std::vector<size_t> sizes_, strides_; ///< of the axes of the target
  const uint8_t *source_;
  uint8_t *target_;
};

} // namespace

/// What makes a value, before bytes of it are widened.
static Operation *sourceOf(Value value) {
  Operation *op = value.getDefiningOp();
  return widensBytes(op) ? op->getOperand(0).getDefiningOp() : op;
}

static Operation *behindReshapes(Operation *op) {
  while (isa_and_nonnull<ReshapeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

/// The op that widens the weight that the value is; null: none does.
static Operation *wideningOf(Value value) {
  Operation *op = behindReshapes(value.getDefiningOp());
  return widensBytes(op) ? op : nullptr;
}

WeightOp bp::storedWeight(Value value) {
  Operation *widening = wideningOf(value);
  return dyn_cast_or_null<WeightOp>(
      behindReshapes(widening ? widening->getOperand(0).getDefiningOp()
                              : value.getDefiningOp()));
}

bool bp::isStoredWeight(Value value) {
  Operation *op = sourceOf(value);
  return op && (isa<WeightOp>(op) || op->hasAttr(blocksAttr));
}

bool bp::isBlockedWeight(Value value) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  auto transpose =
      reshape ? reshape.getX().getDefiningOp<TransposeOp>() : TransposeOp();
  if (!transpose || !isStoredWeight(transpose.getX()))
    return false;
  Dims split = dimsOf(transpose.getType()), whole = dimsOf(reshape.getType());
  return split.size() > whole.size() && joinedAxes(split, whole);
}

int64_t bp::bytesAtOnce(Value left, Value right, const LayoutOptions &device) {
  constexpr int64_t bytes = 4, pairs = 2; // as they are, as 16 bits
  auto elementOf = [](Value factor) {
    auto widening = factor.getDefiningOp<CastOp>();
    return isByteWidening(widening)
               ? getElementTypeOrSelf(widening.getX().getType())
               : Type();
  };
  Type a = elementOf(left), b = elementOf(right);
  if (!a || !b)
    return 1;
  bool mixed = a.isUnsignedInteger() && !b.isUnsignedInteger();
  if (mixed && (device.fusion & BP_FUSE_MIXED_SIGNS))
    return bytes;
  return device.fusion & BP_FUSE_BYTE_PAIRS ? pairs : 1;
}

/// A matrix of elements of so many bytes with zeros behind its rows and
/// columns.
static backplane::Bytes pad(std::span<const uint8_t> matrix, const Dims &before,
                            const Dims &after, size_t width) {
  auto size = [](const Dim &dim) { return size_t(*dim.constant()); };
  size_t rowBytes = size(before[1]) * width, pitch = size(after[1]) * width;
  backplane::Bytes result(size(after[0]) * pitch);
  for (size_t row = 0; row < size(before[0]); ++row)
    std::memcpy(result.data() + row * pitch, matrix.data() + row * rowBytes,
                rowBytes);
  return result;
}

/// The blocks as another weight, of which the op takes `dims`.
static FailureOr<Value> addBlocks(OpBuilder &builder, WeightOp weight,
                                  const Dims &dims, const BlockedLayout &layout,
                                  backplane::WeightPool &pool) {
  std::span<const uint8_t> bytes =
      pool.find(std::string_view(weight.getId()))->data;
  size_t elementBytes =
      getElementTypeOrSelf(weight.getType()).getIntOrFloatBitWidth() / 8;
  backplane::Bytes padded;
  if (!layout.padded.empty())
    bytes = padded = pad(bytes, dims, layout.padded, elementBytes);
  backplane::Bytes blocks(bytes.size());
  backplane::TensorType type{toTensorType(weight.getType())->dtype,
                             transposed(layout.split, layout.order)};
  auto copy = [&]<size_t width>() {
    Transposition<width>(layout.split, layout.order, bytes.data(),
                         blocks.data())
        .copy(0, 0);
  };
  elementBytes == 1 ? copy.operator()<1>() : copy.operator()<4>();
  return addWeight(builder, weight, type, std::move(blocks), pool);
}

static Value reshape(OpBuilder &builder, Location loc, Value value,
                     const Dims &dims) {
  MLIRContext *context = builder.getContext();
  backplane::TensorType type{toTensorType(value.getType())->dtype, dims};
  return ReshapeOp::create(builder, loc, toType(context, type), value,
                           DimsAttr::get(context, dims));
}

static Value transpose(OpBuilder &builder, Location loc, Value value,
                       ArrayRef<int64_t> order) {
  backplane::TensorType type = *toTensorType(value.getType());
  type.dims = transposed(type.dims, order);
  return TransposeOp::create(builder, loc, toType(builder.getContext(), type),
                             value, order);
}

/// The blocks that were computed of the weight before, if they were.
static Value findBlocks(WeightOp weight, const BlockedLayout &layout,
                        Attribute device) {
  for (Operation *user : weight->getUsers())
    if (auto split = dyn_cast<ReshapeOp>(user);
        split && dimsOf(split.getType()) == layout.split)
      for (Operation *next : split->getUsers())
        if (auto blocks = dyn_cast<TransposeOp>(next);
            blocks && blocks->hasAttr(blocksAttr) &&
            blocks.getPermutation() == ArrayRef(layout.order) &&
            blocks->getAttr(deviceAttr) == device)
          return blocks;
  return {};
}

/// The blocks as ops that run once for each session.
static Value computeBlocks(WeightOp weight, const BlockedLayout &layout,
                           Attribute device) {
  if (Value blocks = findBlocks(weight, layout, device))
    return blocks;
  OpBuilder builder(weight->getContext());
  builder.setInsertionPointAfter(weight);
  Location loc = weight.getLoc();
  Value blocks = transpose(
      builder, loc, reshape(builder, loc, weight, layout.split), layout.order);
  Operation *op = blocks.getDefiningOp();
  op->setAttr(blocksAttr, builder.getUnitAttr());
  op->setAttr(aloneAttr,
              builder.getStringAttr("one of them puts a weight in blocks"));
  return blocks;
}

/// The blocks, widened as the weight was.
static Value widen(OpBuilder &builder, Operation *widening, Value blocks) {
  backplane::TensorType type = *toTensorType(blocks.getType());
  type.dtype = toTensorType(widening->getResult(0).getType())->dtype;
  IRMapping mapping;
  mapping.map(widening->getOperand(0), blocks);
  Operation *made = builder.clone(*widening, mapping);
  made->getResult(0).setType(toType(builder.getContext(), type));
  return made->getResult(0);
}

/// Erases what nobody reads, from the op on towards a weight.
static void eraseUnread(Operation *op) {
  while (op && op->use_empty()) {
    Operation *next =
        op->getNumOperands() ? op->getOperand(0).getDefiningOp() : nullptr;
    op->erase();
    op = next;
  }
}

LogicalResult bp::storeInBlocks(OpOperand &operand, const BlockedLayout &layout,
                                const LayoutOptions &device,
                                backplane::WeightPool &pool) {
  Operation *op = operand.getOwner(), *before = operand.get().getDefiningOp();
  Operation *widening = wideningOf(operand.get());
  WeightOp weight = storedWeight(operand.get());
  Dims dims = dimsOf(operand.get().getType());
  OpBuilder builder(op);
  FailureOr<Value> blocks =
      device.keepsWeights ? FailureOr<Value>(computeBlocks(
                                weight, layout, op->getAttr(deviceAttr)))
                          : addBlocks(builder, weight, dims, layout, pool);
  if (failed(blocks))
    return failure();
  Value wide = widening ? widen(builder, widening, *blocks) : *blocks;
  Value view = transpose(builder, op->getLoc(), wide, layout.view);
  Value whole = reshape(builder, op->getLoc(), view, layout.whole);
  for (Value made : {*blocks, wide, view, whole})
    onDeviceOf(op, made);
  operand.set(whole);
  eraseUnread(before);
  return success();
}
