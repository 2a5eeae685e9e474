// SPDX-License-Identifier: Apache-2.0
//
// Windows and images of convolutions: elements of a window that are padding for
// all results go, as those of a small image's last layers and of long dilations
// are; a window that is its whole image, as in the dense layers of fully
// convolutional models, makes a product of one row per image.
#include "sdk/optimize/Patterns.h"

using namespace mlir;
using namespace bp;
using backplane::Dim;
using backplane::Dims;

namespace {

bool coversImage(ConvOp op) {
  auto none = [](int64_t size) { return size == 0; };
  Dims image = dimsOf(op.getX().getType()),
       window = dimsOf(op.getW().getType());
  for (size_t axis = 2; axis < image.size(); ++axis)
    if (!window[axis].constant() || !(image[axis] == window[axis]))
      return false;
  return op.getGroups() == 1 && llvm::all_of(op.getLow(), none) &&
         llvm::all_of(op.getHigh(), none) &&
         llvm::all_of(op.getDilations(),
                      [](int64_t step) { return step == 1; });
}

LogicalResult convOfWholeImage(ConvOp op, PatternRewriter &rewriter) {
  if (!coversImage(op))
    return failure();
  auto flat = [&](Value value) {
    Dims dims = dimsOf(value.getType()), rest(dims.begin() + 1, dims.end());
    return reshape(rewriter, value.getLoc(), value, {dims[0], product(rest)});
  };
  Dims result = dimsOf(op.getType());
  auto type = *toTensorType(op.getType());
  type.dims = {result[0], result[1]};
  Value rows = MatmulOp::create(
      rewriter, op.getLoc(), toType(rewriter.getContext(), type),
      flat(op.getX()), flat(op.getW()), rewriter.getBoolAttr(false),
      rewriter.getBoolAttr(true), op.getWideAttr());
  rewriter.replaceOp(op, reshape(rewriter, op.getLoc(), rows, result));
  return success();
}

/// Elements of a window that some result reads inside of the image.
struct Inside {
  int64_t first, count;
};

/// A spatial axis of a convolution whose sizes are known.
struct Axis {
  int64_t size, window, results, stride, dilation, low, high;

  /// Whether any result reads the image at element `at` of the window.
  bool meetsImage(int64_t at) const {
    int64_t behind = low - at * dilation; // of the image's start, for result 0
    int64_t result = behind > 0 ? (behind + stride - 1) / stride : 0;
    return result < results && result * stride - behind < size;
  }
  /// Without what is padding at both ends, as far as padding goes with it.
  Inside inside() const {
    int64_t first = 0, end = window;
    while (first + 1 < end && first < low / dilation && !meetsImage(first))
      ++first;
    while (end - 1 > first && window - end < high / dilation &&
           !meetsImage(end - 1))
      --end;
    return {first, end - first};
  }
};

std::optional<Axis> readAxis(ConvOp op, size_t number) {
  auto size = [&](Value value) {
    return dimsOf(value.getType())[number + 2].constant();
  };
  auto image = size(op.getX()), window = size(op.getW()),
       results = size(op.getResult());
  if (!image || !window || !results)
    return std::nullopt;
  return Axis{*image,
              *window,
              *results,
              op.getStrides()[number],
              op.getDilations()[number],
              op.getLow()[number],
              op.getHigh()[number]};
}

LogicalResult windowInPadding(ConvOp op, PatternRewriter &rewriter) {
  auto type = *toTensorType(op.getW().getType());
  Dims starts(2, Dim(0));
  SmallVector<int64_t> low(op.getLow()), high(op.getHigh());
  bool any = false;
  for (size_t i = 0; i < low.size(); ++i) {
    auto axis = readAxis(op, i);
    Inside inside = axis ? axis->inside() : Inside{0, 0};
    starts.emplace_back(inside.first);
    if (!axis || inside.count == axis->window)
      continue;
    any = true;
    int64_t behind = axis->window - inside.first - inside.count;
    low[i] -= inside.first * axis->dilation;
    high[i] -= behind * axis->dilation;
    type.dims[i + 2] = Dim(inside.count);
  }
  if (!any)
    return failure();
  SmallVector<int64_t> ones(starts.size(), 1);
  auto dims = [&](const Dims &of) {
    return DimsAttr::get(rewriter.getContext(), of);
  };
  Value window = SliceOp::create(rewriter, op.getW().getLoc(),
                                 toType(rewriter.getContext(), type), op.getW(),
                                 dims(starts), dims(type.dims), ones);
  rewriter.modifyOpInPlace(op, [&] {
    op.getWMutable().assign(window);
    op.setLow(low);
    op.setHigh(high);
  });
  return success();
}

} // namespace

void bp::addWindowPatterns(RewritePatternSet &patterns) {
  patterns.add(convOfWholeImage).add(windowInPadding);
}
