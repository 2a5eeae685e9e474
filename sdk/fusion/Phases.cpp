// SPDX-License-Identifier: Apache-2.0
//
// Transposed convolutions as convolutions of their phases: where strides divide
// the window, all results between two elements of the image see the same
// elements, with another part of the weight. They are outputs of one
// convolution, whose weight is arranged here; what puts them in order is ops of
// its own, to be fused with what follows.
#include "sdk/fusion/AddWeight.h"
#include "sdk/fusion/Fusion.h"

#include "backplane/compiler.h"

#include "mlir/IR/Builders.h"

#include <cstring>

using namespace mlir;
using namespace bp;
using backplane::Dim;
using backplane::Dims;

namespace {

/// What a transposed convolution is made of, per spatial axis.
struct Phases {
  SmallVector<int64_t> strides, seen; ///< elements of the window, per phase
  SmallVector<int64_t> low, high;     ///< border of the image
  SmallVector<int64_t> cut;           ///< results before the first one
  Dims places;

  int64_t count() const { return llvm::product_of(strides); }
  size_t axes() const { return strides.size(); }
  bool hasBorder() const {
    auto some = [](int64_t size) { return size != 0; };
    return llvm::any_of(low, some) || llvm::any_of(high, some);
  }
};

/// Reads an axis; false where it has no phases of the same size, or a border
/// that is not known or cuts.
bool readAxis(ConvTransposeOp op, size_t axis, Phases &phases) {
  std::optional<int64_t> window =
      dimsOf(op.getW().getType())[axis + 2].constant();
  int64_t stride = op.getStrides()[axis], low = op.getLow()[axis];
  if (!window || *window % stride != 0 || op.getDilations()[axis] != 1)
    return false;
  Dim result = dimsOf(op.getType())[axis + 2];
  Dim from = dimsOf(op.getX().getType())[axis + 2];
  int64_t seen = *window / stride, before = seen - 1 - low / stride;
  Dim places = ceilDiv(result + Dim(low), Dim(stride)) - Dim(low / stride);
  std::optional<int64_t> after =
      (places + Dim(seen - 1) - from - Dim(before)).constant();
  if (!after || *after < 0 || before < 0)
    return false;
  phases.strides.push_back(stride);
  phases.seen.push_back(seen);
  phases.low.push_back(before);
  phases.high.push_back(*after);
  phases.cut.push_back(low % stride);
  phases.places.push_back(places);
  return true;
}

/// None where the op has no phases that pay.
std::optional<Phases> readPhases(ConvTransposeOp op) {
  Phases phases;
  for (size_t axis = 0; axis < op.getStrides().size(); ++axis)
    if (!readAxis(op, axis, phases))
      return std::nullopt;
  // A zero of the border times an infinite element would be NaN.
  if (phases.count() == 1 || (phases.hasBorder() && !op.getFiniteWeight()))
    return std::nullopt;
  return phases;
}

/// Where element `index` of [o, phase…, c, seen…] is in [c, o, window…].
size_t placeInWeight(const Phases &phases, size_t index, size_t inputs,
                     size_t outputs) {
  SmallVector<size_t> seen(phases.axes()), phase(phases.axes());
  auto take = [&](size_t size) {
    size_t part = index % size;
    index /= size;
    return part;
  };
  for (size_t i = phases.axes(); i-- > 0;)
    seen[i] = take(size_t(phases.seen[i]));
  size_t input = take(inputs);
  for (size_t i = phases.axes(); i-- > 0;)
    phase[i] = take(size_t(phases.strides[i]));
  size_t place = input * outputs + index;
  for (size_t i = 0; i < phases.axes(); ++i) {
    auto stride = size_t(phases.strides[i]), whole = size_t(phases.seen[i]);
    place = place * whole * stride + (whole - 1 - seen[i]) * stride + phase[i];
  }
  return place;
}

/// The weight of the convolution, [o * phases, c, seen…].
FailureOr<Value> phaseWeight(OpBuilder &builder, WeightOp op,
                             const backplane::Weight &weight,
                             const Phases &phases,
                             backplane::WeightPool &pool) {
  constexpr size_t width = sizeof(float);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getType()).getShape();
  backplane::Bytes bytes(weight.data.size());
  for (size_t i = 0; i < bytes.size() / width; ++i)
    std::memcpy(bytes.data() + i * width,
                weight.data.data() + placeInWeight(phases, i, size_t(shape[0]),
                                                   size_t(shape[1])) *
                                         width,
                width);
  auto type = *toTensorType(op.getType());
  type.dims = {Dim(shape[1] * phases.count()), Dim(shape[0])};
  type.dims.insert(type.dims.end(), phases.seen.begin(), phases.seen.end());
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
    Dims split{result[0], result[1]}, mixed = split, whole = split;
    Dims starts(2, Dim(0));
    auto axes = int64_t(phases.axes());
    SmallVector<int64_t> order{0, 1};
    split.insert(split.end(), phases.strides.begin(), phases.strides.end());
    split.insert(split.end(), phases.places.begin(), phases.places.end());
    for (int64_t i = 0; i < axes; ++i) {
      Dim place = phases.places[size_t(i)], stride(phases.strides[size_t(i)]);
      mixed.insert(mixed.end(), {place, stride});
      whole.push_back(place * stride);
      starts.emplace_back(phases.cut[size_t(i)]);
      order.append({2 + axes + i, 2 + i});
    }
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

  Value convolution(Value weight) {
    keep(weight);
    Dims to{dimsOf(op.getType())[0], dimsOf(weight.getType())[0]};
    to.insert(to.end(), phases.places.begin(), phases.places.end());
    SmallVector<int64_t> ones(phases.axes(), 1);
    return keep(ConvOp::create(builder, op.getLoc(), typeOf(to), op.getX(),
                               weight, ones, ones, phases.low, phases.high));
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
  Value keep(Value value) {
    if (Attribute device = op->getAttr(deviceAttr))
      value.getDefiningOp()->setAttr(deviceAttr, device);
    return value;
  }

  ConvTransposeOp op;
  const Phases &phases;
};

LogicalResult split(ConvTransposeOp op, backplane::WeightPool &pool) {
  auto weight = op.getW().getDefiningOp<WeightOp>();
  const backplane::Weight *known =
      weight ? pool.find(std::string_view(weight.getId())) : nullptr;
  std::optional<Phases> phases = readPhases(op);
  if (!phases || !known || known->data.empty())
    return success();
  Rewrite rewrite(op, *phases);
  FailureOr<Value> arranged =
      phaseWeight(rewrite.builder, weight, *known, *phases, pool);
  if (failed(arranged))
    return failure();
  op.getResult().replaceAllUsesWith(
      rewrite.inOrder(rewrite.convolution(*arranged)));
  op.erase();
  if (weight->use_empty())
    weight.erase();
  return success();
}

bool isSplit(ConvTransposeOp op, ArrayRef<FusionOptions> devices) {
  return (devices[deviceOf(op)].fusion & BP_FUSE_WEIGHTS) != 0 &&
         !op->hasAttr(kernelAttr) && op.getGroups() == 1 &&
         getElementTypeOrSelf(op.getW().getType()).isF32();
}

} // namespace

LogicalResult bp::splitPhases(func::FuncOp main,
                              ArrayRef<FusionOptions> devices,
                              backplane::WeightPool &pool) {
  SmallVector<ConvTransposeOp> ops(main.getOps<ConvTransposeOp>());
  for (ConvTransposeOp op : ops)
    if (isSplit(op, devices) && failed(split(op, pool)))
      return failure();
  return success();
}
