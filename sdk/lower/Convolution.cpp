// SPDX-License-Identifier: Apache-2.0
//
// Convolutions and pools: linalg.generic with window loops. README.md has the
// order of the loops.
#include "sdk/lower/Lowering.h"

#include "sdk/dialect/Convert.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace bp;
using namespace bp::lower;
using backplane::Dim;

namespace {

using Exprs = SmallVector<AffineExpr>;

/// Gives loops their numbers, in the order in which they are asked for.
struct LoopNest {
  MLIRContext *context;
  Iterators iterators;

  AffineExpr add(utils::IteratorType kind) {
    iterators.push_back(kind);
    return getAffineDimExpr(iterators.size() - 1, context);
  }
  AffineExpr parallel() { return add(utils::IteratorType::parallel); }
  AffineExpr reduction() { return add(utils::IteratorType::reduction); }
  Exprs parallels(size_t count) {
    Exprs exprs;
    for (size_t i = 0; i < count; ++i)
      exprs.push_back(parallel());
    return exprs;
  }
  Exprs reductions(size_t count) {
    Exprs exprs;
    for (size_t i = 0; i < count; ++i)
      exprs.push_back(reduction());
    return exprs;
  }
  AffineMap map(const Exprs &exprs) const {
    return AffineMap::get(iterators.size(), 0, exprs, context);
  }
};

/// Where the window elements lie: position * stride + element * dilation.
Exprs windowed(const Exprs &positions, const Exprs &window,
               ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations) {
  Exprs exprs;
  for (auto [position, element, stride, dilation] :
       llvm::zip(positions, window, strides, dilations))
    exprs.push_back(position * stride + element * dilation);
  return exprs;
}

Exprs joined(std::initializer_list<Exprs> lists) {
  Exprs all;
  for (const Exprs &list : lists)
    llvm::append_range(all, list);
  return all;
}

/// With zeros for the axes before the spatial ones.
SmallVector<int64_t> forAllAxes(ArrayRef<int64_t> spatial, size_t rank) {
  SmallVector<int64_t> all(rank - spatial.size(), 0);
  llvm::append_range(all, spatial);
  return all;
}

/// The second entry of `dims` split in two.
std::vector<Dim> splitAt(const std::vector<Dim> &dims, size_t axis, Dim first,
                         Dim second) {
  std::vector<Dim> split(dims.begin(), dims.begin() + ptrdiff_t(axis));
  split.push_back(first);
  split.push_back(second);
  split.insert(split.end(), dims.begin() + ptrdiff_t(axis) + 1, dims.end());
  return split;
}

/// What a convolution computes with: an image that is padded already, whose
/// channels may be split into groups, and a weight [o, c / groups, window…].
struct Convolution {
  Value image, weight;
  /// The weight with its outputs in blocks, as a `bp` value; null: there are
  /// none, else `weight` is null.
  Value blocks = {};
  /// Of the spatial axes of the image: 0 where an element was put in that is
  /// not to be multiplied; null: all are.
  Value presence = {};
  std::vector<Dim> weightDims, resultDims;
  SmallVector<int64_t> strides, dilations;
  int64_t groups;
  Element element;

  size_t spatial() const { return strides.size(); }
  Dim outputs() const { return floorDiv(resultDims[1], Dim(groups)); }
  Dim inputs() const { return weightDims[1]; }
  bool isDepthwise() const {
    return groups > 1 && inputs() == Dim(1) && outputs() == Dim(1);
  }
};

Value reshaped(Lowering &lowering, Value tensor, const std::vector<Dim> &from,
               const std::vector<Dim> &to) {
  Sizes sizes =
      lowering.sizes(DimsAttr::get(lowering.builder.getContext(), to));
  return lowering.reshape(tensor, from, to, sizes);
}

Value multiplyAdd(ImplicitLocOpBuilder &body, ValueRange args,
                  const Element &element) {
  Value w = load(body, args[0], element), x = load(body, args[1], element);
  Value product = isa<FloatType>(w.getType())
                      ? Value(arith::MulFOp::create(body, w, x))
                      : Value(arith::MulIOp::create(body, w, x));
  return combine(body, "sum", args[2], product, false);
}

/// The sum so far where nothing is present, else `next`.
Value where(ImplicitLocOpBuilder &body, Value presence, Value next, Value sum) {
  Value zero = arith::ConstantOp::create(
      body, cast<TypedAttr>(body.getZeroAttr(presence.getType())));
  Value present =
      arith::CmpFOp::create(body, arith::CmpFPredicate::UNE, presence, zero);
  return arith::SelectOp::create(body, present, next, sum);
}

/// The result in `dims`, from its weight and image with these maps; of 16 bits
/// it is not rounded yet. `windowAt` is where windows lie on spatial axes.
Value contract(Lowering &lowering, const Convolution &c, Value weight,
               const std::vector<Dim> &dims, const LoopNest &nest,
               const Exprs &weightAt, const Exprs &imageAt,
               const Exprs &windowAt, const Exprs &resultAt) {
  ImplicitLocOpBuilder &builder = lowering.builder;
  Sizes sizes = lowering.sizes(DimsAttr::get(builder.getContext(), dims));
  Value start =
      lowering.filled(lowering.empty(sizes, c.element.compute),
                      cast<TypedAttr>(builder.getZeroAttr(c.element.compute)));
  auto body = [&](ImplicitLocOpBuilder &inner, ValueRange args) {
    Value sum = args.back();
    Value next = multiplyAdd(inner, {args[0], args[1], sum}, c.element);
    return SmallVector<Value>{c.presence ? where(inner, args[2], next, sum)
                                         : next};
  };
  SmallVector<Value> inputs{weight, c.image};
  Maps maps{nest.map(weightAt), nest.map(joined({imageAt, windowAt}))};
  if (c.presence) {
    inputs.push_back(c.presence);
    maps.push_back(nest.map(windowAt));
  }
  maps.push_back(nest.map(resultAt));
  Value sum =
      lowering.generic(inputs, start, maps, nest.iterators, body).getResult(0);
  return c.element.storage.isF32() ? lowering.rounded(sum, c.element, sizes)
                                   : sum;
}

Value convolveOneGroup(Lowering &lowering, const Convolution &c) {
  LoopNest nest{lowering.builder.getContext(), {}};
  AffineExpr batch = nest.parallel(), output = nest.parallel();
  Exprs at = nest.parallels(c.spatial());
  AffineExpr input = nest.reduction();
  Exprs window = nest.reductions(c.spatial());
  return contract(lowering, c, c.weight, c.resultDims, nest,
                  joined({{output, input}, window}), {batch, input},
                  windowed(at, window, c.strides, c.dilations),
                  joined({{batch, output}, at}));
}

/// One channel in and out per group.
Value convolveDepthwise(Lowering &lowering, const Convolution &c) {
  LoopNest nest{lowering.builder.getContext(), {}};
  AffineExpr batch = nest.parallel(), channel = nest.parallel();
  Exprs at = nest.parallels(c.spatial());
  Exprs window = nest.reductions(c.spatial());
  std::vector<Dim> flat = c.weightDims;
  flat.erase(flat.begin() + 1);
  Value weight = reshaped(lowering, c.weight, c.weightDims, flat);
  return contract(lowering, c, weight, c.resultDims, nest,
                  joined({{channel}, window}), {batch, channel},
                  windowed(at, window, c.strides, c.dilations),
                  joined({{batch, channel}, at}));
}

Value convolveGroups(Lowering &lowering, const Convolution &c) {
  LoopNest nest{lowering.builder.getContext(), {}};
  AffineExpr batch = nest.parallel(), group = nest.parallel(),
             output = nest.parallel();
  Exprs at = nest.parallels(c.spatial());
  AffineExpr input = nest.reduction();
  Exprs window = nest.reductions(c.spatial());
  Dim groups(c.groups);
  auto weightDims = splitAt(c.weightDims, 0, groups, c.outputs());
  auto resultDims = splitAt(c.resultDims, 1, groups, c.outputs());
  Value weight = reshaped(lowering, c.weight, c.weightDims, weightDims);
  Value result =
      contract(lowering, c, weight, resultDims, nest,
               joined({{group, output, input}, window}), {batch, group, input},
               windowed(at, window, c.strides, c.dilations),
               joined({{batch, group, output}, at}));
  return reshaped(lowering, result, resultDims, c.resultDims);
}

/// What a weight is a reshape of that does no more than to join blocks of
/// outputs, or null.
Value outputBlocks(Value weight) {
  auto reshape = weight.getDefiningOp<ReshapeOp>();
  if (!reshape)
    return {};
  std::vector<Dim> split = dimsOf(reshape.getX().getType());
  std::vector<Dim> whole = dimsOf(weight.getType());
  bool joins = split.size() == whole.size() + 1 &&
               std::equal(split.begin() + 2, split.end(), whole.begin() + 1);
  return joins ? reshape.getX() : Value();
}

/// As one group, with the outputs in blocks as those of the weight.
Value convolveBlocks(Lowering &lowering, const Convolution &c, Value blocks) {
  LoopNest nest{lowering.builder.getContext(), {}};
  AffineExpr batch = nest.parallel(), block = nest.parallel(),
             output = nest.parallel();
  Exprs at = nest.parallels(c.spatial());
  AffineExpr input = nest.reduction();
  Exprs window = nest.reductions(c.spatial());
  View weight = lowering.permutedView(blocks);
  std::vector<Dim> dims = dimsOf(blocks.getType());
  auto resultDims = splitAt(c.resultDims, 1, dims[0], dims[1]);
  AffineMap weightAt =
      weight.map.compose(nest.map(joined({{block, output, input}, window})));
  Value result = contract(lowering, c, weight.base, resultDims, nest,
                          Exprs(weightAt.getResults()), {batch, input},
                          windowed(at, window, c.strides, c.dilations),
                          joined({{batch, block, output}, at}));
  return reshaped(lowering, result, resultDims, c.resultDims);
}

Value convolve(Lowering &lowering, const Convolution &c) {
  if (c.blocks)
    return convolveBlocks(lowering, c, c.blocks);
  if (c.groups == 1)
    return convolveOneGroup(lowering, c);
  return c.isDepthwise() ? convolveDepthwise(lowering, c)
                         : convolveGroups(lowering, c);
}

/// How windows lie on an image.
struct Windows {
  std::vector<Dim> sizes;
  ArrayRef<int64_t> strides, dilations, low, high;
};

/// An image and its dims, the spatial ones last.
struct Image {
  Value tensor;
  std::vector<Dim> dims;
};

/// Splits the channels of an image [n, c, spatial…] where the groups need it.
Image splitImage(Lowering &lowering, const Convolution &c, Image image) {
  if (c.groups == 1 || c.isDepthwise())
    return image;
  auto dims = splitAt(image.dims, 1, Dim(c.groups), c.inputs());
  return {reshaped(lowering, image.tensor, image.dims, dims), dims};
}

/// The image with its padding, no further than the last window reaches. An axis
/// with one window has no elements behind it: without its loop the sizes must
/// agree.
Image windowedImage(Lowering &lowering, Image image, ArrayRef<Dim> result,
                    const Windows &w, TypedAttr border) {
  size_t first = image.dims.size() - w.sizes.size();
  ArrayRef<Dim> positions = result.take_back(w.sizes.size());
  SmallVector<int64_t> high(w.high);
  bool crops = false;
  for (size_t i = 0; i < w.sizes.size(); ++i) {
    Dim used = (positions[i] - 1) * Dim(w.strides[i]) +
               (w.sizes[i] - 1) * Dim(w.dilations[i]) + 1;
    Dim &size = image.dims[first + i];
    Dim whole = size + Dim(w.low[i]) + Dim(high[i]);
    int64_t surplus =
        std::max<int64_t>((whole - used).constant().value_or(0), 0);
    int64_t cut = std::min(surplus, high[i]);
    high[i] -= cut;
    bool cropsAxis = surplus > cut && positions[i] == Dim(1);
    size = cropsAxis ? used : whole - Dim(cut);
    crops |= cropsAxis;
  }
  size_t rank = image.dims.size();
  image.tensor = lowering.padded(image.tensor, forAllAxes(w.low, rank),
                                 forAllAxes(high, rank), border);
  if (!crops)
    return image;
  ImplicitLocOpBuilder &builder = lowering.builder;
  Sizes zeros(rank, builder.getIndexAttr(0));
  Sizes ones(rank, builder.getIndexAttr(1));
  Sizes sizes = lowering.sizes(DimsAttr::get(builder.getContext(), image.dims));
  image.tensor =
      tensor::ExtractSliceOp::create(builder, image.tensor, zeros, sizes, ones);
  return image;
}

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

LogicalResult lower::lowerConv(Lowering &lowering, ConvOp op) {
  Convolution c;
  c.element = elementOf(op.getX().getType());
  c.groups = op.getGroups();
  if (c.groups == 1)
    c.blocks = outputBlocks(op.getW());
  if (!c.blocks)
    c.weight = lowering.tensor(op.getW());
  c.weightDims = dimsOf(op.getW().getType());
  c.resultDims = dimsOf(op.getResult().getType());
  c.strides.assign(op.getStrides().begin(), op.getStrides().end());
  c.dilations.assign(op.getDilations().begin(), op.getDilations().end());
  std::vector<Dim> window(c.weightDims.begin() + 2, c.weightDims.end());
  Windows windows{window, op.getStrides(), op.getDilations(), op.getLow(),
                  op.getHigh()};
  auto zero = cast<TypedAttr>(lowering.builder.getZeroAttr(c.element.storage));
  Image image{lowering.tensor(op.getX()), dimsOf(op.getX().getType())};
  // Split before it is padded: what is padded is then read as it is.
  image = splitImage(lowering, c, image);
  c.image = windowedImage(lowering, image, c.resultDims, windows, zero).tensor;
  lowering.setComputed(op.getResult(), convolve(lowering, c));
  return success();
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

namespace {

/// A pool over the last axes of an image that is padded already.
struct Pool {
  PoolOp op;
  Element element;
  Image image;
  std::vector<Dim> result;

  size_t axes() { return op.getWindow().size(); }
  size_t first() { return image.dims.size() - axes(); }
};

} // namespace

/// Work of a pool of one axis after the other as a share of that of all at
/// once: an axis that comes later is as long as the image is yet.
static double workByAxes(Pool pool) {
  double all = 1, separate = 0, longer = 1;
  for (size_t i = 0; i < pool.axes(); ++i) {
    auto window = double(pool.op.getWindow()[i]);
    auto from = pool.image.dims[pool.first() + i].constant();
    auto to = pool.result[pool.first() + i].constant();
    all *= window;
    separate += window * longer;
    longer *= from && to && *to > 0 ? double(*from) / double(*to)
                                    : double(pool.op.getStrides()[i]);
  }
  return separate / all;
}

/// Pools over `axes`, counted from the first that has a window, of an image
/// with results of `dims`.
static Value poolAxes(Lowering &lowering, Pool pool, Value image,
                      ArrayRef<int64_t> axes, const std::vector<Dim> &dims) {
  PoolOp op = pool.op;
  const Element &element = pool.element;
  LoopNest nest{op.getContext(), {}};
  Exprs at = nest.parallels(dims.size()), from = at, window;
  SmallVector<int64_t> shape;
  for (int64_t axis : axes) {
    window.push_back(nest.reduction());
    shape.push_back(op.getWindow()[axis]);
    AffineExpr &position = from[pool.first() + size_t(axis)];
    position = position * op.getStrides()[axis] +
               window.back() * op.getDilations()[axis];
  }
  Maps maps{nest.map(from), nest.map(window), nest.map(at)};
  Sizes sizes = lowering.sizes(DimsAttr::get(op.getContext(), dims));
  Value windowShape = lowering.empty(
      getAsIndexOpFoldResult(op.getContext(), shape), element.storage);
  Value start = lowering.filled(
      lowering.empty(sizes, element.compute),
      neutral(op.getKind(), element.compute, element.isUnsigned));
  auto body = [&](ImplicitLocOpBuilder &inner, ValueRange args) {
    bool stored = args[0].getType() == element.storage;
    Value value = stored ? load(inner, args[0], element) : args[0];
    return SmallVector<Value>{
        combine(inner, op.getKind(), args[2], value, element.isUnsigned)};
  };
  return lowering
      .generic({image, windowShape}, start, maps, nest.iterators, body)
      .getResult(0);
}

/// A large window is pooled along one axis after the other, the last one first.
static Value poolImage(Lowering &lowering, Pool pool) {
  SmallVector<int64_t> all =
      llvm::to_vector(llvm::seq<int64_t>(0, int64_t(pool.axes())));
  if (workByAxes(pool) > 0.5)
    return poolAxes(lowering, pool, pool.image.tensor, all, pool.result);
  Value image = pool.image.tensor;
  std::vector<Dim> dims = pool.image.dims;
  for (int64_t axis : llvm::reverse(all)) {
    size_t dim = pool.first() + size_t(axis);
    dims[dim] = pool.result[dim];
    image = poolAxes(lowering, pool, image, axis, dims);
  }
  return image;
}

LogicalResult lower::lowerPool(Lowering &lowering, PoolOp op) {
  Type resultType = op.getResult().getType();
  Element element = elementOf(resultType);
  TypedAttr border = neutral(op.getKind(), element.storage, element.isUnsigned);
  std::vector<Dim> windowDims(op.getWindow().begin(), op.getWindow().end());
  Windows windows{windowDims, op.getStrides(), op.getDilations(), op.getLow(),
                  op.getHigh()};
  std::vector<Dim> result = dimsOf(resultType);
  Image operand{lowering.tensor(op.getX()), dimsOf(op.getX().getType())};
  Image image = windowedImage(lowering, operand, result, windows, border);
  lowering.setComputed(op.getResult(),
                       poolImage(lowering, {op, element, image, result}));
  return success();
}
