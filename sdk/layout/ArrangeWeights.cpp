// SPDX-License-Identifier: Apache-2.0
//
// Weights of convolutions are put in blocks of outputs, as [outputs / 8,
// inputs, window, 8]: a kernel that computes some outputs then reads memory
// from its start to its end. Of bytes some inputs are neighbours, as [outputs,
// inputs / 4, window, 4]: an instruction multiplies those at once, and they lie
// under the same pixel.
#include "sdk/layout/AddWeight.h"
#include "sdk/layout/BlockedWeight.h"

#include "backplane/compiler.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

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

/// Whether some outputs of f32 are a block.
static bool hasBlocks(ConvOp op) {
  return getElementTypeOrSelf(op.getW().getType()).isF32() &&
         dimsOf(op.getType())[1].constant().value_or(1) % kBlock == 0;
}

/// Whether outputs are lanes.
static bool isInLanes(ConvOp op) {
  return (hasFewPixels(op) || hasWidePadding(op)) &&
         dimsOf(op.getType())[1].constant().value_or(1) % kLaneBlock == 0;
}

/// Inputs that are neighbours in a weight of bytes; 1: none are. An image whose
/// pixels are read in order is packed as quickly as it is, and one whose size
/// is not known is not copied.
static int64_t inputsOf(ConvOp op, const LayoutOptions &device) {
  auto type = cast<RankedTensorType>(op.getW().getType());
  auto several = [](int64_t size) { return size > 1; };
  bool inOrder = !llvm::any_of(type.getShape().drop_front(2), several) &&
                 !llvm::any_of(op.getStrides(), several);
  int64_t inputs = type.getDimSize(1);
  int64_t atOnce = bytesAtOnce(op.getX(), op.getW(), device);
  bool areSome = inputs > 0 && inputs % atOnce == 0;
  auto image = cast<RankedTensorType>(op.getX().getType());
  bool isKnown = !ShapedType::isDynamicShape(image.getShape().drop_front(2));
  return areSome && isKnown && (!inOrder || isInLanes(op)) ? atOnce : 1;
}

static bool isArranged(ConvOp op, ArrayRef<LayoutOptions> devices,
                       const backplane::WeightPool &pool) {
  const LayoutOptions &device = devices[deviceOf(op)];
  WeightOp weight = storedWeight(op.getW());
  bool isStored = weight && (weight.getResult() == op.getW() ||
                             widensBytes(op.getW().getDefiningOp()));
  return isStored && knownWeight(weight, pool) &&
         (device.fusion & BP_FUSE_WEIGHTS) != 0 && !op->hasAttr(kernelAttr) &&
         op.getGroups() == 1 && hasPixels(op) &&
         (hasBlocks(op) || inputsOf(op, device) > 1);
}

/// Outputs of a block; 1: they are as they were.
static int64_t blockOf(ConvOp op) {
  if (isInLanes(op))
    return kLaneBlock;
  return hasBlocks(op) ? kBlock : 1;
}

/// Splits axes 0 and 1, where their last parts are more than 1, which then come
/// last.
static BlockedLayout layoutOf(const backplane::Dims &whole, int64_t outputs,
                              int64_t inputs) {
  BlockedLayout layout{.whole = whole};
  SmallVector<int64_t> last;
  auto split = [&](size_t axis, int64_t part) {
    layout.order.push_back(int64_t(layout.split.size()));
    if (part == 1)
      return layout.split.push_back(whole[axis]);
    layout.split.emplace_back(*whole[axis].constant() / part);
    last.push_back(int64_t(layout.split.size()));
    layout.split.emplace_back(part);
  };
  split(0, outputs);
  split(1, inputs);
  for (size_t axis = 2; axis < whole.size(); ++axis)
    split(axis, 1);
  llvm::append_range(layout.order, last);
  layout.view = invertPermutationVector(layout.order);
  return layout;
}

static LogicalResult arrange(ConvOp op, const LayoutOptions &device,
                             backplane::WeightPool &pool) {
  BlockedLayout layout =
      layoutOf(dimsOf(op.getW().getType()), blockOf(op), inputsOf(op, device));
  return storeInBlocks(op.getWMutable(), layout, device, pool);
}

LogicalResult bp::arrangeWeights(func::FuncOp main,
                                 ArrayRef<LayoutOptions> devices,
                                 backplane::WeightPool &pool) {
  SmallVector<ConvOp> convolutions(main.getOps<ConvOp>());
  for (ConvOp op : convolutions)
    if (isArranged(op, devices, pool) &&
        failed(arrange(op, devices[deviceOf(op)], pool)))
      return failure();
  return success();
}
