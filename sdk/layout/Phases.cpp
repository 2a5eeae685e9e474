// SPDX-License-Identifier: Apache-2.0
//
// Transposed convolutions as convolutions of their phases, the places that
// results have between two elements of the image: all results of a phase see
// the elements through the same part of the window. Phases that see as many
// elements are outputs of one convolution, whose weight is arranged here; what
// puts them in order is ops of its own, to be fused with what follows.
#include "sdk/layout/AddWeight.h"
#include "sdk/layout/Layout.h"

#include "backplane/compiler.h"

#include "mlir/IR/Builders.h"

#include <cstring>

using namespace mlir;
using namespace bp;
using backplane::Dim;
using backplane::Dims;

namespace {

/// A spatial axis of a transposed convolution.
struct Axis {
  int64_t window, stride, low;
  Dim from, places; ///< elements of the image, results of a phase

  /// Elements of the window that the results of a phase see.
  int64_t seen(int64_t phase) const {
    return (window - phase + stride - 1) / stride;
  }
  /// Phases from the first one that see as many elements as it.
  int64_t longer() const {
    return window % stride == 0 ? stride : window % stride;
  }
};

/// Neighbouring phases of an axis that see as many elements, and the border of
/// the image for them.
struct Range {
  int64_t first, count, seen, before, after;
};

/// The phases that one convolution computes: a range of each axis.
using Part = SmallVector<Range>;

struct Phases {
  SmallVector<Axis> axes;
  SmallVector<Part> parts; ///< phases in their order, the last axis fastest

  int64_t count() const {
    int64_t product = 1;
    for (const Axis &axis : axes)
      product *= axis.stride;
    return product;
  }
  bool hasBorder() const {
    return llvm::any_of(parts, [](const Part &part) {
      return llvm::any_of(part, [](const Range &range) {
        return range.before != 0 || range.after != 0;
      });
    });
  }
};

/// More convolutions than this do not pay.
constexpr size_t kMaxParts = 16;

std::optional<Axis> readAxis(ConvTransposeOp op, size_t number) {
  std::optional<int64_t> window =
      dimsOf(op.getW().getType())[number + 2].constant();
  int64_t stride = op.getStrides()[number], low = op.getLow()[number];
  if (!window || *window < stride || op.getDilations()[number] != 1)
    return std::nullopt;
  Dim result = dimsOf(op.getType())[number + 2];
  Dim from = dimsOf(op.getX().getType())[number + 2];
  return Axis{*window, stride, low, from,
              ceilDiv(result + Dim(low), Dim(stride)) - Dim(low / stride)};
}

/// None where the border is not known or cuts.
std::optional<Range> readRange(const Axis &axis, int64_t first, int64_t count) {
  int64_t seen = axis.seen(first), before = seen - 1 - axis.low / axis.stride;
  std::optional<int64_t> after =
      (axis.places + Dim(seen - 1) - axis.from - Dim(before)).constant();
  if (!after || *after < 0 || before < 0)
    return std::nullopt;
  return Range{first, count, seen, before, *after};
}

/// The ranges of an axis: both that see as many elements each, or, as phases of
/// the axes behind are in several parts, single phases.
SmallVector<std::pair<int64_t, int64_t>> rangesOf(const Axis &axis,
                                                  bool single) {
  SmallVector<std::pair<int64_t, int64_t>> ranges;
  for (int64_t phase = 0; phase < axis.stride; phase += ranges.back().second) {
    int64_t end = phase < axis.longer() ? axis.longer() : axis.stride;
    ranges.emplace_back(phase, single ? 1 : end - phase);
  }
  return ranges;
}

/// Adds the parts that begin with `part`; false where one has no border.
bool addParts(Phases &phases, ArrayRef<bool> single, const Part &part) {
  if (part.size() == phases.axes.size()) {
    phases.parts.push_back(part);
    return phases.parts.size() <= kMaxParts;
  }
  const Axis &axis = phases.axes[part.size()];
  for (auto [first, count] : rangesOf(axis, single[part.size()])) {
    std::optional<Range> range = readRange(axis, first, count);
    Part longer(part);
    if (!range)
      return false;
    longer.push_back(*range);
    if (!addParts(phases, single, longer))
      return false;
  }
  return true;
}

/// None where the op has no phases that pay. With strides of 1 there is one.
std::optional<Phases> readPhases(ConvTransposeOp op) {
  Phases phases;
  for (size_t number = 0; number < op.getStrides().size(); ++number) {
    std::optional<Axis> axis = readAxis(op, number);
    if (!axis)
      return std::nullopt;
    phases.axes.push_back(*axis);
  }
  SmallVector<bool> single(phases.axes.size());
  for (size_t i = phases.axes.size(); i-- > 1;)
    single[i - 1] =
        single[i] || phases.axes[i].longer() != phases.axes[i].stride;
  if (!addParts(phases, single, {}))
    return std::nullopt;
  // A zero of the border times an infinite element would be NaN.
  if (phases.hasBorder() && !op.getFiniteWeight())
    return std::nullopt;
  return phases;
}

/// Where element `index` of [phase…, o, c, seen…] is in [c, o, window…].
size_t placeInWeight(const Phases &phases, const Part &part, size_t index,
                     size_t inputs, size_t outputs) {
  SmallVector<size_t> seen(part.size()), phase(part.size());
  auto take = [&](size_t size) {
    size_t rest = index % size;
    index /= size;
    return rest;
  };
  for (size_t i = part.size(); i-- > 0;)
    seen[i] = take(size_t(part[i].seen));
  size_t input = take(inputs), output = take(outputs);
  for (size_t i = part.size(); i-- > 0;)
    phase[i] = size_t(part[i].first) + take(size_t(part[i].count));
  size_t place = input * outputs + output;
  for (size_t i = 0; i < part.size(); ++i) {
    const Axis &axis = phases.axes[i];
    place = place * size_t(axis.window) +
            (size_t(part[i].seen) - 1 - seen[i]) * size_t(axis.stride) +
            phase[i];
  }
  return place;
}

/// The weight of the convolution of a part, [phase… * o, c, seen…].
FailureOr<Value> partWeight(OpBuilder &builder, WeightOp op,
                            const backplane::Weight &weight,
                            const Phases &phases, const Part &part,
                            backplane::WeightPool &pool) {
  constexpr size_t width = sizeof(float);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getType()).getShape();
  auto type = *toTensorType(op.getType());
  int64_t count = 1, seen = 1;
  for (const Range &range : part) {
    count *= range.count;
    seen *= range.seen;
  }
  type.dims = {Dim(count * shape[1]), Dim(shape[0])};
  for (const Range &range : part)
    type.dims.emplace_back(range.seen);
  backplane::Bytes bytes(size_t(count * shape[1] * shape[0] * seen) * width);
  for (size_t i = 0; i < bytes.size() / width; ++i) {
    size_t place =
        placeInWeight(phases, part, i, size_t(shape[0]), size_t(shape[1]));
    std::memcpy(bytes.data() + i * width, weight.data.data() + place * width,
                width);
  }
  return addWeight(builder, op, type, std::move(bytes), pool);
}

/// Makes ops that give tensors of the element type of the result.
class Rewrite {
public:
  Rewrite(ConvTransposeOp op, const Phases &phases)
      : builder(op), op(op), phases(phases) {}

  /// Puts places and their phases in order, and cuts off the border.
  Value inOrder(Value computed) {
    Dims result = dimsOf(op.getType());
    Dims split{result[0]}, mixed{result[0], result[1]}, whole = mixed;
    Dims starts(2, Dim(0)), places;
    auto axes = int64_t(phases.axes.size());
    SmallVector<int64_t> order{0, 1 + axes};
    for (auto [i, axis] : llvm::enumerate(phases.axes)) {
      Dim stride(axis.stride);
      split.push_back(stride);
      places.push_back(axis.places);
      mixed.insert(mixed.end(), {axis.places, stride});
      whole.push_back(axis.places * stride);
      starts.emplace_back(axis.low % axis.stride);
      order.append({2 + axes + int64_t(i), 1 + int64_t(i)});
    }
    split.push_back(result[1]);
    split.insert(split.end(), places.begin(), places.end());
    if (phases.count() == 1 && places == Dims(result.begin() + 2, result.end()))
      return computed;
    Value joined = reshape(computed, split);
    joined = keep(TransposeOp::create(builder, op.getLoc(), typeOf(mixed),
                                      joined, order));
    joined = reshape(joined, whole);
    if (whole == result)
      return joined;
    SmallVector<int64_t> ones(result.size(), 1);
    return keep(SliceOp::create(builder, op.getLoc(), op.getType(), joined,
                                dims(starts), dims(result), ones));
  }

  /// The results of a part, phases before outputs.
  Value convolution(const Part &part, Value weight) {
    keep(weight);
    Dims to{dimsOf(op.getType())[0], dimsOf(weight.getType())[0]};
    SmallVector<int64_t> before, after, ones(part.size(), 1);
    for (auto [axis, range] : llvm::zip(phases.axes, part)) {
      to.push_back(axis.places);
      before.push_back(range.before);
      after.push_back(range.after);
    }
    return keep(ConvOp::create(builder, op.getLoc(), typeOf(to), op.getX(),
                               weight, ones, ones, before, after));
  }

  /// The results of all parts behind each other.
  Value join(ArrayRef<Value> parts) {
    if (parts.size() == 1)
      return parts.front();
    Dims to = dimsOf(parts.front().getType());
    to[1] = Dim(phases.count()) * dimsOf(op.getType())[1];
    return keep(
        ConcatOp::create(builder, op.getLoc(), typeOf(to), parts, /*axis=*/1));
  }

  OpBuilder builder;

private:
  DimsAttr dims(const Dims &of) {
    return DimsAttr::get(builder.getContext(), of);
  }
  Type typeOf(const Dims &of) {
    auto type = *toTensorType(op.getType());
    type.dims = of;
    return toType(builder.getContext(), type);
  }
  Value reshape(Value value, const Dims &to) {
    return keep(
        ReshapeOp::create(builder, op.getLoc(), typeOf(to), value, dims(to)));
  }
  /// On the device of the op.
  Value keep(Value value) { return onDeviceOf(op, value); }

  ConvTransposeOp op;
  const Phases &phases;
};

LogicalResult split(ConvTransposeOp op, backplane::WeightPool &pool) {
  auto weight = op.getW().getDefiningOp<WeightOp>();
  const backplane::Weight *known = knownWeight(weight, pool);
  std::optional<Phases> phases = readPhases(op);
  if (!phases || !known)
    return success();
  Rewrite rewrite(op, *phases);
  SmallVector<Value> parts;
  for (const Part &part : phases->parts) {
    FailureOr<Value> arranged =
        partWeight(rewrite.builder, weight, *known, *phases, part, pool);
    if (failed(arranged))
      return failure();
    parts.push_back(rewrite.convolution(part, *arranged));
  }
  op.getResult().replaceAllUsesWith(rewrite.inOrder(rewrite.join(parts)));
  op.erase();
  if (weight->use_empty())
    weight.erase();
  return success();
}

bool isSplit(ConvTransposeOp op, ArrayRef<LayoutOptions> devices) {
  return (devices[deviceOf(op)].fusion & BP_FUSE_WEIGHTS) != 0 &&
         !op->hasAttr(kernelAttr) && op.getGroups() == 1 &&
         getElementTypeOrSelf(op.getW().getType()).isF32();
}

} // namespace

LogicalResult bp::splitPhases(func::FuncOp main,
                              ArrayRef<LayoutOptions> devices,
                              backplane::WeightPool &pool) {
  SmallVector<ConvTransposeOp> ops(main.getOps<ConvTransposeOp>());
  for (ConvTransposeOp op : ops)
    if (isSplit(op, devices) && failed(split(op, pool)))
      return failure();
  return success();
}
