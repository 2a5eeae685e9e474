// SPDX-License-Identifier: Apache-2.0
//
// Weights of convolutions are put in blocks of outputs, as [outputs / 8,
// inputs, window, 8]: a kernel that computes some outputs then reads memory
// from its start to its end.
#include "sdk/fusion/BlockedWeight.h"

#include "backplane/compiler.h"

#include <algorithm>

using namespace mlir;
using namespace bp;

/// Outputs of a block, which are rows of a kernel, and of one for few pixels,
/// which are its lanes.
static constexpr int64_t kBlock = 8, kLaneBlock = 16;

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

/// Whether elements of the rows of windows lie in the padding that often.
static bool hasWidePadding(ConvOp op) {
  constexpr int64_t share = 10; // one in so many
  int64_t pixels = cast<RankedTensorType>(op.getType()).getShape().back();
  int64_t size = cast<RankedTensorType>(op.getX().getType()).getShape().back();
  int64_t window =
      cast<RankedTensorType>(op.getW().getType()).getShape().back();
  if (ShapedType::isDynamic(pixels) || ShapedType::isDynamic(size) ||
      pixels > 4096)
    return false;
  int64_t stride = op.getStrides().back(), inside = 0;
  auto pixelsBefore = [&](int64_t place) {
    return std::clamp<int64_t>(llvm::divideCeilSigned(place, stride), 0,
                               pixels);
  };
  for (int64_t element = 0; element < window; ++element) {
    int64_t first = op.getLow().back() - element * op.getDilations().back();
    inside += pixelsBefore(first + size) - pixelsBefore(first);
  }
  return (pixels * window - inside) * share >= pixels * window;
}

static bool isArranged(ConvOp op, ArrayRef<FusionOptions> devices,
                       const backplane::WeightPool &pool) {
  return isKnown(op.getW().getDefiningOp<WeightOp>(), pool) &&
         (devices[deviceOf(op)].fusion & BP_FUSE_WEIGHTS) != 0 &&
         !op->hasAttr(kernelAttr) && op.getGroups() == 1 &&
         getElementTypeOrSelf(op.getW().getType()).isF32() &&
         dimsOf(op.getType())[1].constant().value_or(1) % kBlock == 0 &&
         hasPixels(op);
}

static LogicalResult arrange(ConvOp op, const FusionOptions &device,
                             backplane::WeightPool &pool) {
  BlockedLayout layout{.whole = dimsOf(op.getW().getType())};
  int64_t outputs = *layout.whole[0].constant();
  bool inLanes =
      (hasFewPixels(op) || hasWidePadding(op)) && outputs % kLaneBlock == 0;
  int64_t block = inLanes ? kLaneBlock : kBlock;
  layout.split = {backplane::Dim(outputs / block), backplane::Dim(block)};
  layout.split.insert(layout.split.end(), layout.whole.begin() + 1,
                      layout.whole.end());
  auto last = int64_t(layout.split.size()) - 1;
  layout.order = {0};
  llvm::append_range(layout.order, llvm::seq<int64_t>(2, last + 1));
  layout.order.push_back(1);
  layout.view = {0, last};
  llvm::append_range(layout.view, llvm::seq<int64_t>(1, last));
  return storeInBlocks(op.getWMutable(), layout, device, pool);
}

LogicalResult bp::arrangeWeights(func::FuncOp main,
                                 ArrayRef<FusionOptions> devices,
                                 backplane::WeightPool &pool) {
  SmallVector<ConvOp> convolutions(main.getOps<ConvOp>());
  for (ConvOp op : convolutions)
    if (isArranged(op, devices, pool) &&
        failed(arrange(op, devices[deviceOf(op)], pool)))
      return failure();
  return success();
}
