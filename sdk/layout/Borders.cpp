// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of few planes, many of whose products along that axis are with
// padding: results that see the same planes of the window are a convolution of
// their own, of those planes, with no padding there. Of rows, kernels know
// which ones are padding; planes are too far apart for that.
#include "sdk/layout/AddWeight.h"
#include "sdk/layout/Layout.h"

#include "backplane/compiler.h"

#include "mlir/IR/Builders.h"

#include <algorithm>
#include <cstring>
#include <numeric>

using namespace mlir;
using namespace bp;
using backplane::Dim;
using backplane::Dims;

namespace {

/// The axis of planes, along which a convolution is divided.
constexpr size_t kAxis = 2;

/// Neighbouring results that see the same elements of the window.
struct Part {
  int64_t first, count; ///< results
  int64_t seen, end;    ///< elements of the window: from, to
};

struct Axis {
  int64_t results, window, size, stride, dilation, low;

  /// Elements of the window that lie in the image.
  std::pair<int64_t, int64_t> seenFrom(int64_t result) const {
    int64_t start = result * stride - low, first = 0, end = window;
    while (first < window && start + first * dilation < 0)
      ++first;
    while (end > first && start + (end - 1) * dilation >= size)
      --end;
    return {first, end};
  }
  /// The element of the image under one of the window.
  int64_t under(int64_t result, int64_t element) const {
    return result * stride + element * dilation - low;
  }
};

/// Sizes, if all of them are known.
std::optional<SmallVector<int64_t>> constants(Type type) {
  SmallVector<int64_t> sizes;
  for (const Dim &dim : dimsOf(type)) {
    std::optional<int64_t> size = dim.constant();
    if (!size)
      return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

/// Sizes of a model may have a product that no integer holds.
double product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 1.0, std::multiplies<>());
}

/// Empty where a result sees nothing, or there are many planes.
SmallVector<Part> partsOf(const Axis &axis) {
  constexpr int64_t maxPlanes = 256;
  SmallVector<Part> parts;
  if (std::max(axis.results, axis.window) > maxPlanes)
    return {};
  for (int64_t result = 0; result < axis.results; ++result) {
    auto [first, end] = axis.seenFrom(result);
    if (first >= end)
      return {};
    if (!parts.empty() && parts.back().seen == first && parts.back().end == end)
      ++parts.back().count;
    else
      parts.push_back({result, 1, first, end});
  }
  return parts;
}

/// Whether what the parts do not multiply takes longer than the copies of the
/// image and of the result that they may cost, and weights are read for many
/// results.
bool pays(const Axis &axis, ArrayRef<Part> parts, ArrayRef<int64_t> x,
          ArrayRef<int64_t> w, ArrayRef<int64_t> y) {
  constexpr size_t maxParts = 5;
  constexpr double minShare = 0.1, productsOfCopy = 32, minPixels = 512;
  int64_t seen = 0;
  for (const Part &part : parts)
    seen += part.count * (part.end - part.seen);
  double share = 1 - double(seen) / double(axis.results * axis.window);
  double products = product(y) * product(w.drop_front());
  return !parts.empty() && parts.size() <= maxParts && share >= minShare &&
         product(y.drop_front(kAxis)) >= minPixels &&
         share * products >= productsOfCopy * (product(x) + product(y));
}

/// The weight with some elements of the window along the axis.
FailureOr<Value> partWeight(OpBuilder &builder, WeightOp op,
                            const backplane::Weight &weight, const Part &part,
                            backplane::WeightPool &pool) {
  auto type = *toTensorType(op.getType());
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getType()).getShape();
  auto outer = size_t(shape[0] * shape[1]), window = size_t(shape[kAxis]);
  size_t inner = weight.data.size() / (outer * window);
  size_t bytes = size_t(part.end - part.seen) * inner;
  type.dims[kAxis] = Dim(part.end - part.seen);
  backplane::Bytes kept(outer * bytes);
  for (size_t i = 0; i < outer; ++i)
    std::memcpy(kept.data() + i * bytes,
                weight.data.data() + (i * window + size_t(part.seen)) * inner,
                bytes);
  return addWeight(builder, op, type, std::move(kept), pool);
}

/// Makes ops where the convolution is, on its device.
class Rewrite {
public:
  Rewrite(ConvOp op, const Axis &axis) : builder(op), op(op), axis(axis) {}

  Value convolution(const Part &part, Value weight) {
    auto low = llvm::to_vector(op.getLow()),
         high = llvm::to_vector(op.getHigh());
    low.front() = high.front() = 0;
    return keep(ConvOp::create(
        builder, op.getLoc(), typeOf(op.getType(), part.count), planes(part),
        weight, op.getStrides(), op.getDilations(), low, high));
  }
  Value join(ArrayRef<Value> parts) {
    return keep(ConcatOp::create(builder, op.getLoc(), op.getType(), parts,
                                 int64_t(kAxis)));
  }

  OpBuilder builder;

private:
  /// The planes of the image that a part sees.
  Value planes(const Part &part) {
    Dims sizes = dimsOf(op.getX().getType()), starts(sizes.size(), Dim(0));
    int64_t first = axis.under(part.first, part.seen);
    int64_t last = axis.under(part.first + part.count - 1, part.end - 1);
    SmallVector<int64_t> ones(sizes.size(), 1);
    starts[kAxis] = Dim(first);
    sizes[kAxis] = Dim(last + 1 - first);
    return keep(SliceOp::create(
        builder, op.getLoc(), typeOf(op.getX().getType(), last + 1 - first),
        op.getX(), DimsAttr::get(builder.getContext(), starts),
        DimsAttr::get(builder.getContext(), sizes), ones));
  }
  Type typeOf(Type like, int64_t size) {
    auto type = *toTensorType(like);
    type.dims[kAxis] = Dim(size);
    return toType(builder.getContext(), type);
  }
  Value keep(Value value) { return onDeviceOf(op, value); }

  ConvOp op;
  const Axis &axis;
};

LogicalResult divide(ConvOp op, backplane::WeightPool &pool) {
  auto weight = op.getW().getDefiningOp<WeightOp>();
  const backplane::Weight *known = knownWeight(weight, pool);
  auto x = constants(op.getX().getType()), w = constants(op.getW().getType());
  auto y = constants(op.getType());
  if (!known || !x || !w || !y)
    return success();
  Axis axis = {(*y)[kAxis],
               (*w)[kAxis],
               (*x)[kAxis],
               op.getStrides().front(),
               op.getDilations().front(),
               op.getLow().front()};
  SmallVector<Part> parts = partsOf(axis);
  if (!pays(axis, parts, *x, *w, *y))
    return success();
  Rewrite rewrite(op, axis);
  SmallVector<Value> results;
  for (const Part &part : parts) {
    bool whole = part.seen == 0 && part.end == axis.window;
    FailureOr<Value> kept =
        whole ? op.getW()
              : partWeight(rewrite.builder, weight, *known, part, pool);
    if (failed(kept))
      return failure();
    results.push_back(rewrite.convolution(part, *kept));
  }
  op.getResult().replaceAllUsesWith(rewrite.join(results));
  op.erase();
  if (weight->use_empty())
    weight.erase();
  return success();
}

bool isDivided(ConvOp op, ArrayRef<LayoutOptions> devices) {
  const LayoutOptions &device = devices[deviceOf(op)];
  return (device.fusion & BP_FUSE_WEIGHTS) != 0 && !device.keepsWeights &&
         !op->hasAttr(kernelAttr) && op.getGroups() == 1 &&
         op.getStrides().size() >= 3 &&
         getElementTypeOrSelf(op.getW().getType()).isF32();
}

} // namespace

LogicalResult bp::divideAtBorders(func::FuncOp main,
                                  ArrayRef<LayoutOptions> devices,
                                  backplane::WeightPool &pool) {
  SmallVector<ConvOp> ops(main.getOps<ConvOp>());
  for (ConvOp op : ops)
    if (isDivided(op, devices) && failed(divide(op, pool)))
      return failure();
  return success();
}
