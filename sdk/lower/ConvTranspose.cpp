// SPDX-License-Identifier: Apache-2.0
//
// Transposed convolutions: convolutions of an image with zeros between its
// elements, or of the phases of a stride.
#include "sdk/lower/Convolution.h"

#include "sdk/dialect/Convert.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace bp;
using namespace bp::lower;
using backplane::Dim;

namespace {

/// The image of the convolution that a conv_transpose is: its elements stride
/// apart among zeros, with a border that a window reaches into. A border below
/// zero cuts.
struct Spread {
  SmallVector<int64_t> low, strides;
  std::vector<Dim> dims;
};

Spread planSpread(ConvTransposeOp op, const std::vector<Dim> &from,
                  const std::vector<Dim> &weight,
                  const std::vector<Dim> &result) {
  Spread spread;
  spread.dims = {from[0], from[1]};
  spread.strides.assign(op.getStrides().begin(), op.getStrides().end());
  for (size_t i = 0; i + 2 < from.size(); ++i) {
    int64_t reach = (*weight[i + 2].constant() - 1) * op.getDilations()[i];
    spread.low.push_back(reach - op.getLow()[i]);
    spread.dims.push_back(result[i + 2] + Dim(reach));
  }
  return spread;
}

} // namespace

/// Elements of the image that lie inside: first, how many, where they go.
struct SpreadAxis {
  OpFoldResult first, count, offset;
};

static SpreadAxis planAxis(Lowering &lowering, const Dim &size, int64_t low,
                           int64_t stride, const Dim &extent) {
  // Element i goes to low + i * stride, which must lie in [0, extent).
  Dim first = low < 0 ? ceilDiv(Dim(-low), Dim(stride)) : Dim(0);
  Dim end = min(size, max(Dim(0), ceilDiv(extent - Dim(low), Dim(stride))));
  Dim count = max(Dim(0), end - first);
  Dim offset = Dim(low) + first * Dim(stride);
  Sizes sizes = lowering.sizes(DimsAttr::get(
      lowering.builder.getContext(), std::vector<Dim>{first, count, offset}));
  return {sizes[0], sizes[1], sizes[2]};
}

/// The box of the image that is used, and where it goes; of all axes.
struct SpreadBox {
  Sizes firsts, counts, offsets, strides;
};

static SpreadBox planBox(Lowering &lowering, ConvTransposeOp op,
                         const Spread &spread) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  std::vector<Dim> from = dimsOf(op.getX().getType());
  Sizes all = lowering.sizes(op.getX().getType());
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  SpreadBox box{Sizes(2, zero), Sizes(all.begin(), all.begin() + 2),
                Sizes(2, zero), Sizes(2, one)};
  for (size_t i = 0; i < spread.low.size(); ++i) {
    SpreadAxis axis = planAxis(lowering, from[i + 2], spread.low[i],
                               spread.strides[i], spread.dims[i + 2]);
    box.firsts.push_back(axis.first);
    box.counts.push_back(axis.count);
    box.offsets.push_back(axis.offset);
    box.strides.push_back(builder.getIndexAttr(spread.strides[i]));
  }
  return box;
}

/// Zeros of these dims, the last of the spread, with the box put in.
static Value putBox(Lowering &lowering, const Spread &spread, Value source,
                    const SpreadBox &box, size_t skipped) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  Type element = cast<RankedTensorType>(source.getType()).getElementType();
  std::vector<Dim> dims(spread.dims.begin() + ptrdiff_t(skipped),
                        spread.dims.end());
  Sizes sizes = lowering.sizes(DimsAttr::get(builder.getContext(), dims));
  Value target = lowering.filled(lowering.empty(sizes, element),
                                 cast<TypedAttr>(builder.getZeroAttr(element)));
  auto kept = [&](const Sizes &all) {
    return ArrayRef<OpFoldResult>(all).drop_front(skipped);
  };
  return tensor::InsertSliceOp::create(builder, source, target,
                                       kept(box.offsets), kept(box.counts),
                                       kept(box.strides));
}

static Value spreadImage(Lowering &lowering, ConvTransposeOp op,
                         const Spread &spread, const SpreadBox &box) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  Sizes ones(box.counts.size(), builder.getIndexAttr(1));
  Value source = tensor::ExtractSliceOp::create(
      builder, lowering.tensor(op.getX()), box.firsts, box.counts, ones);
  return putBox(lowering, spread, source, box, 0);
}

/// 1 where an element of x lies on the spatial axes, 0 between and around.
static Value spreadPresence(Lowering &lowering, const Spread &spread,
                            const SpreadBox &box, Type element) {
  Sizes counts(ArrayRef<OpFoldResult>(box.counts).drop_front(2));
  Value ones = lowering.filled(lowering.empty(counts, element),
                               lowering.builder.getFloatAttr(element, 1));
  return putBox(lowering, spread, ones, box, 2);
}

/// Elements of the window that a result of one phase sees, per axis; the
/// phases of an axis are the places that results have between two elements of
/// the image. A window whose elements are all seen by each result has one.
struct Phases {
  SmallVector<int64_t> counts, seen;

  int64_t all() const { return llvm::product_of(counts); }
};

/// Phases pay where each sees as many elements as the others.
static Phases planPhases(ConvTransposeOp op, const std::vector<Dim> &weight) {
  ArrayRef<int64_t> strides = op.getStrides();
  Phases split, one;
  bool even = true;
  for (size_t i = 0; i < strides.size(); ++i) {
    int64_t window = *weight[i + 2].constant();
    even &= op.getDilations()[i] == 1 && window % strides[i] == 0 &&
            op.getLow()[i] >= 0;
    split.counts.push_back(strides[i]);
    split.seen.push_back(window / strides[i]);
    one.counts.push_back(1);
    one.seen.push_back(window);
  }
  return even ? split : one;
}

/// The index before the axes of these sizes, then that of each.
static SmallVector<Value> splitIndex(ImplicitLocOpBuilder &body, Value index,
                                     ArrayRef<int64_t> sizes) {
  SmallVector<Value> parts(sizes.size() + 1);
  for (size_t i = sizes.size(); i > 0; --i) {
    Value size = arith::ConstantIndexOp::create(body, sizes[i - 1]);
    parts[i] = arith::RemUIOp::create(body, index, size);
    index = arith::DivUIOp::create(body, index, size);
  }
  parts[0] = index;
  return parts;
}

/// first * size + last
static Value joinIndex(ImplicitLocOpBuilder &body, Value first, Value last,
                       int64_t size) {
  Value scale = arith::ConstantIndexOp::create(body, size);
  Value scaled = arith::MulIOp::create(body, first, scale);
  return arith::AddIOp::create(body, scaled, last);
}

/// The weight of the convolution that a conv_transpose is: from [c, o / groups,
/// window…] to [o * phases, c / groups, window…], with the window reversed.
/// Sets the dims.
static Value mirroredWeight(Lowering &lowering, ConvTransposeOp op,
                            const Phases &phases, Convolution &c) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  std::vector<Dim> from = dimsOf(op.getW().getType());
  auto groups = int64_t(op.getGroups());
  c.weightDims = {from[1] * Dim(groups * phases.all()),
                  floorDiv(from[0], Dim(groups))};
  c.weightDims.insert(c.weightDims.end(), phases.seen.begin(),
                      phases.seen.end());
  Sizes sizes =
      lowering.sizes(DimsAttr::get(builder.getContext(), c.weightDims));
  Sizes old = lowering.sizes(op.getW().getType());
  Value outputs = lowering.sizeAsIndex(old[1]);
  Value inputs = lowering.sizeAsIndex(sizes[1]);
  auto index = [&](ImplicitLocOpBuilder &body, ValueRange at) {
    SmallVector<Value> phase = splitIndex(body, at[0], phases.counts);
    Value group = arith::DivUIOp::create(body, phase[0], outputs);
    Value output = arith::RemUIOp::create(body, phase[0], outputs);
    Value first = arith::MulIOp::create(body, group, inputs);
    Value input = arith::AddIOp::create(body, first, at[1]);
    SmallVector<Value> position{input, output};
    for (size_t i = 0; i < phases.seen.size(); ++i) {
      Value last = arith::ConstantIndexOp::create(body, phases.seen[i] - 1);
      Value element = arith::SubIOp::create(body, last, at[i + 2]);
      position.push_back(
          joinIndex(body, element, phase[i + 1], phases.counts[i]));
    }
    return position;
  };
  return lowering.pick(lowering.view(op.getW()), sizes, Value(), index);
}

/// The image of a convolution whose results are all phases of a place: as it
/// is, with a border.
static Spread planBorder(ConvTransposeOp op, const Phases &phases,
                         const std::vector<Dim> &result) {
  std::vector<Dim> from = dimsOf(op.getX().getType());
  Spread border;
  border.dims = {from[0], from[1]};
  border.strides.assign(phases.counts.size(), 1);
  for (size_t i = 0; i < phases.counts.size(); ++i) {
    int64_t low = op.getLow()[i], stride = phases.counts[i];
    Dim places =
        ceilDiv(result[i + 2] + Dim(low), Dim(stride)) - Dim(low / stride);
    border.low.push_back(phases.seen[i] - 1 - low / stride);
    border.dims.push_back(places + Dim(phases.seen[i] - 1));
  }
  return border;
}

/// The image with this border, as a pad where it has a static size.
static Value borderedImage(Lowering &lowering, ConvTransposeOp op,
                           const Spread &border, const SpreadBox &box,
                           const Element &element) {
  std::vector<Dim> from = dimsOf(op.getX().getType());
  SmallVector<int64_t> high;
  for (size_t i = 0; i < border.low.size(); ++i) {
    Dim rest = border.dims[i + 2] - from[i + 2] - Dim(border.low[i]);
    high.push_back(rest.constant().value_or(-1));
  }
  auto cuts = [](int64_t size) { return size < 0; };
  if (llvm::any_of(border.low, cuts) || llvm::any_of(high, cuts))
    return spreadImage(lowering, op, border, box);
  auto zero = cast<TypedAttr>(lowering.builder.getZeroAttr(element.storage));
  return lowering.padded(lowering.tensor(op.getX()),
                         forAllAxes(border.low, from.size()),
                         forAllAxes(high, from.size()), zero);
}

/// From [n, o * phases, place…], phases in a row each, to the result [n, o,
/// …]: places and their phases in order, without those of the cut border.
static Value joinPhases(Lowering &lowering, ConvTransposeOp op,
                        const Phases &phases, Value tensor,
                        const std::vector<Dim> &from,
                        const std::vector<Dim> &result) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  size_t axes = phases.counts.size();
  std::vector<Dim> split{from[0], result[1]}, mixed = split, whole = split;
  split.insert(split.end(), phases.counts.begin(), phases.counts.end());
  split.insert(split.end(), from.begin() + 2, from.end());
  Exprs at{builder.getAffineDimExpr(0), builder.getAffineDimExpr(1)}, places;
  Sizes starts(2, builder.getIndexAttr(0));
  for (size_t i = 0; i < axes; ++i) {
    Dim stride(phases.counts[i]);
    mixed.insert(mixed.end(), {from[i + 2], stride});
    whole.push_back(from[i + 2] * stride);
    places.push_back(builder.getAffineDimExpr(2 * i + 2));
    at.push_back(builder.getAffineDimExpr(2 * i + 3));
    starts.push_back(builder.getIndexAttr(op.getLow()[i] % phases.counts[i]));
  }
  llvm::append_range(at, places);
  auto sizes = [&](const std::vector<Dim> &dims) {
    return lowering.sizes(DimsAttr::get(builder.getContext(), dims));
  };
  View source{reshaped(lowering, tensor, from, split),
              AffineMap::get(2 * axes + 2, 0, at, builder.getContext())};
  Type element = getElementTypeOrSelf(tensor.getType());
  Value joined =
      lowering.parallel(source, lowering.empty(sizes(mixed), element),
                        [](ImplicitLocOpBuilder &, ValueRange args) {
                          return SmallVector<Value>{args[0]};
                        });
  joined = reshaped(lowering, joined, mixed, whole);
  if (whole == result)
    return joined;
  Sizes ones(axes + 2, builder.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(builder, joined, starts, sizes(result),
                                        ones);
}

LogicalResult lower::lowerConvTranspose(Lowering &lowering,
                                        ConvTransposeOp op) {
  Convolution c;
  c.element = elementOf(op.getX().getType());
  std::vector<Dim> weightDims = dimsOf(op.getW().getType());
  for (const Dim &dim : ArrayRef<Dim>(weightDims).drop_front(2))
    if (!dim.constant())
      return op.emitOpError("needs a window of static size, found ")
             << dim.str();
  Phases phases = planPhases(op, weightDims);
  bool split = phases.all() > 1;
  std::vector<Dim> result = dimsOf(op.getResult().getType());
  c.weight = mirroredWeight(lowering, op, phases, c);
  Spread spread =
      split ? planBorder(op, phases, result)
            : planSpread(op, dimsOf(op.getX().getType()), weightDims, result);
  c.resultDims = result;
  for (size_t i = 0; split && i < phases.seen.size(); ++i)
    c.resultDims[i + 2] = spread.dims[i + 2] - Dim(phases.seen[i] - 1);
  c.resultDims[1] = result[1] * Dim(phases.all());
  c.strides.assign(op.getStrides().size(), 1);
  c.dilations.assign(op.getDilations().begin(), op.getDilations().end());
  c.groups = op.getGroups();
  SpreadBox box = planBox(lowering, op, spread);
  bool borders = spread.dims != dimsOf(op.getX().getType()) ||
                 llvm::any_of(spread.low, [](int64_t low) { return low != 0; });
  if (borders && c.element.isFloat() && !op.getFiniteWeight())
    c.presence = spreadPresence(lowering, spread, box, c.element.compute);
  Image image{split ? borderedImage(lowering, op, spread, box, c.element)
                    : spreadImage(lowering, op, spread, box),
              spread.dims};
  c.image = splitImage(lowering, c, image).tensor;
  Value computed = convolve(lowering, c);
  if (split)
    computed = joinPhases(lowering, op, phases, computed, c.resultDims, result);
  lowering.setComputed(op.getResult(), computed);
  return success();
}
