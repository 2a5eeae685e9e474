// SPDX-License-Identifier: Apache-2.0
//
// Weights of convolutions are stored in blocks of outputs, as [outputs / 8,
// inputs, window, 8]: a kernel that computes some outputs then reads memory
// from its start to its end.
#include "sdk/fusion/AddWeight.h"
#include "sdk/fusion/Fusion.h"

#include "backplane/compiler.h"

#include <algorithm>
#include <cstring>

using namespace mlir;
using namespace bp;

/// Outputs of a block, which are rows of a kernel, and of one for few pixels,
/// which are its lanes.
static constexpr int64_t kBlock = 8, kLaneBlock = 16;

/// From [outputs, columns] to [outputs / block, columns, block], of words.
static backplane::Bytes inBlocks(std::span<const uint8_t> from, size_t outputs,
                                 size_t block) {
  constexpr size_t width = 4;
  backplane::Bytes to(from.size());
  size_t columns = from.size() / width / outputs;
  uint8_t *place = to.data();
  for (size_t first = 0; first < outputs; first += block)
    for (size_t column = 0; column < columns; ++column)
      for (size_t o = first; o < first + block; ++o, place += width)
        std::memcpy(place, from.data() + (o * columns + column) * width, width);
  return to;
}

/// Whether the result has several pixels, as far as is known: one is a product
/// with a vector, which reads rows of the weight.
static bool hasPixels(ConvOp op) {
  return llvm::any_of(
      cast<RankedTensorType>(op.getType()).getShape().drop_front(2),
      [](int64_t size) { return size != 1; });
}

/// Whether vectors of pixels are too often not full.
static bool hasFewPixels(ConvOp op) {
  int64_t pixels = 1;
  for (int64_t size :
       cast<RankedTensorType>(op.getType()).getShape().drop_front(2)) {
    if (ShapedType::isDynamic(size))
      return false;
    pixels *= size;
  }
  auto lanes = int64_t(llvm::alignTo(uint64_t(pixels), kLaneBlock));
  return lanes * 20 > pixels * 21;
}

static bool isArranged(ConvOp op, ArrayRef<FusionOptions> devices) {
  return (devices[deviceOf(op)].fusion & BP_FUSE_WEIGHTS) != 0 &&
         !op->hasAttr(kernelAttr) && op.getGroups() == 1 &&
         getElementTypeOrSelf(op.getW().getType()).isF32() &&
         dimsOf(op.getType())[1].constant().value_or(1) % kBlock == 0 &&
         hasPixels(op);
}

static LogicalResult arrange(ConvOp op, backplane::WeightPool &pool) {
  auto weight = op.getW().getDefiningOp<WeightOp>();
  const backplane::Weight *known =
      weight ? pool.find(std::string_view(weight.getId())) : nullptr;
  if (!known || known->data.empty())
    return success();
  backplane::TensorType stored = *toTensorType(weight.getType());
  const backplane::Dims whole = stored.dims;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(weight.getType()).getShape();
  bool inLanes = hasFewPixels(op) && shape[0] % kLaneBlock == 0;
  int64_t block = inLanes ? kLaneBlock : kBlock;
  backplane::Bytes bytes =
      inBlocks(known->data, size_t(shape[0]), size_t(block));
  stored.dims = {backplane::Dim(shape[0] / block)};
  stored.dims.insert(stored.dims.end(), whole.begin() + 1, whole.end());
  stored.dims.push_back(backplane::Dim(block));
  auto last = int64_t(stored.dims.size()) - 1;
  SmallVector<int64_t> order{0, last};
  llvm::append_range(order, llvm::seq<int64_t>(1, last));
  return storeAs(op.getWMutable(), weight, stored, std::move(bytes), order,
                 whole, pool);
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
