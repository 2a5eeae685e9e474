// SPDX-License-Identifier: Apache-2.0
//
// Weights of convolutions are stored in blocks of outputs, as [outputs / 8,
// window, inputs, 8]: a kernel that computes some outputs then reads memory
// from its start to its end, and what lies under one element of the window
// follows each other.
#include "sdk/fusion/AddWeight.h"
#include "sdk/fusion/Fusion.h"

#include "backplane/compiler.h"

#include "mlir/IR/Builders.h"

#include <algorithm>
#include <cstring>

using namespace mlir;
using namespace bp;

/// Outputs of a block.
static constexpr int64_t kBlock = 8;

/// From [outputs, inputs, window] to [outputs / block, window, inputs, block],
/// of words.
static backplane::Bytes inBlocks(std::span<const uint8_t> from, size_t outputs,
                                 size_t inputs) {
  constexpr size_t width = 4, block = kBlock;
  backplane::Bytes to(from.size());
  size_t columns = from.size() / width / outputs, window = columns / inputs;
  uint8_t *place = to.data();
  for (size_t first = 0; first < outputs; first += block)
    for (size_t element = 0; element < window; ++element)
      for (size_t input = 0; input < inputs; ++input)
        for (size_t o = first; o < first + block; ++o, place += width)
          std::memcpy(place,
                      from.data() +
                          (o * columns + input * window + element) * width,
                      width);
  return to;
}

/// Whether the result has several pixels, as far as is known: one is a product
/// with a vector, which reads rows of the weight.
static bool hasPixels(ConvOp op) {
  return llvm::any_of(
      cast<RankedTensorType>(op.getType()).getShape().drop_front(2),
      [](int64_t size) { return size != 1; });
}

static bool isArranged(ConvOp op, ArrayRef<FusionOptions> devices) {
  return (devices[deviceOf(op)].fusion & BP_FUSE_WEIGHTS) != 0 &&
         !op->hasAttr(kernelAttr) && op.getGroups() == 1 &&
         getElementTypeOrSelf(op.getW().getType()).isF32() &&
         dimsOf(op.getType())[1].constant().value_or(1) % kBlock == 0 &&
         hasPixels(op);
}

/// The weight in blocks, as it is in memory; null: it is no weight that the
/// pool has.
static FailureOr<Value> blockedWeight(OpBuilder &builder, WeightOp op,
                                      backplane::WeightPool &pool) {
  const backplane::Weight *weight = pool.find(std::string_view(op.getId()));
  if (!weight || weight->data.empty())
    return Value();
  auto type = *toTensorType(op.getType());
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getType()).getShape();
  backplane::Bytes bytes =
      inBlocks(weight->data, size_t(shape[0]), size_t(shape[1]));
  backplane::Dims dims{backplane::Dim(shape[0] / kBlock)};
  dims.insert(dims.end(), type.dims.begin() + 2, type.dims.end());
  dims.insert(dims.end(), {type.dims[1], backplane::Dim(kBlock)});
  type.dims = dims;
  return addWeight(builder, op, type, std::move(bytes), pool);
}

/// Blocks as the weight that a convolution takes.
static Value unblocked(OpBuilder &builder, Value blocks, Type type) {
  auto stored = *toTensorType(blocks.getType());
  auto last = int64_t(stored.dims.size()) - 1;
  SmallVector<int64_t> order{0, last, last - 1};
  llvm::append_range(order, llvm::seq<int64_t>(1, last - 1));
  backplane::TensorType split = stored;
  for (auto [dim, axis] : llvm::zip(split.dims, order))
    dim = stored.dims[size_t(axis)];
  Location loc = blocks.getLoc();
  Value transposed = TransposeOp::create(
      builder, loc, toType(builder.getContext(), split), blocks, order);
  return ReshapeOp::create(builder, loc, type, transposed,
                           DimsAttr::get(builder.getContext(), dimsOf(type)));
}

static LogicalResult arrange(ConvOp op, backplane::WeightPool &pool) {
  auto weight = op.getW().getDefiningOp<WeightOp>();
  OpBuilder builder(op);
  FailureOr<Value> blocks =
      weight ? blockedWeight(builder, weight, pool) : Value();
  if (failed(blocks))
    return failure();
  if (!*blocks)
    return success();
  Value same = unblocked(builder, *blocks, weight.getType());
  if (Attribute device = op->getAttr(deviceAttr))
    for (Value made = same; made;
         made = made.getDefiningOp()->getNumOperands()
                    ? made.getDefiningOp()->getOperand(0)
                    : Value())
      made.getDefiningOp()->setAttr(deviceAttr, device);
  op.getWMutable().assign(same);
  if (weight->use_empty())
    weight.erase();
  return success();
}

bool bp::isBlockedWeight(Value value) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  auto transpose =
      reshape ? reshape.getX().getDefiningOp<TransposeOp>() : TransposeOp();
  if (!transpose || !transpose.getX().getDefiningOp<WeightOp>())
    return false;
  backplane::Dims split = dimsOf(transpose.getType()),
                  whole = dimsOf(reshape.getType());
  if (split.size() != whole.size() + 1)
    return false;
  auto last = whole.end() - 1;
  return std::equal(split.begin() + 2, split.end(), whole.begin() + 1) ||
         std::equal(whole.begin(), last, split.begin());
}

LogicalResult bp::arrangeWeights(func::FuncOp main,
                                 ArrayRef<FusionOptions> devices,
                                 backplane::WeightPool &pool) {
  SmallVector<ConvOp> convolutions(main.getOps<ConvOp>());
  for (ConvOp op : convolutions)
    if (isArranged(op, devices) && failed(arrange(op, pool)))
      return failure();
  return success();
}
