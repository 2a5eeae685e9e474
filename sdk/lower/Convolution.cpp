// SPDX-License-Identifier: Apache-2.0
//
// Convolutions: linalg.generic with window loops. README.md has the order of
// the loops.
#include "sdk/lower/Convolution.h"

#include "sdk/dialect/Convert.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace bp;
using namespace bp::lower;
using backplane::Dim;

Value lower::reshaped(Lowering &lowering, Value tensor,
                      const std::vector<Dim> &from,
                      const std::vector<Dim> &to) {
  Sizes sizes =
      lowering.sizes(DimsAttr::get(lowering.builder.getContext(), to));
  return lowering.reshape(tensor, from, to, sizes);
}

namespace {

/// The second entry of `dims` split in two.
std::vector<Dim> splitAt(const std::vector<Dim> &dims, size_t axis, Dim first,
                         Dim second) {
  std::vector<Dim> split(dims.begin(), dims.begin() + ptrdiff_t(axis));
  split.push_back(first);
  split.push_back(second);
  split.insert(split.end(), dims.begin() + ptrdiff_t(axis) + 1, dims.end());
  return split;
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
    Value next = multiplyAdd(inner, load(inner, args[0], c.element),
                             load(inner, args[1], c.element), sum);
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
/// outputs, or of inputs, or null.
Value joinedBlocks(Value weight) {
  auto reshape = weight.getDefiningOp<ReshapeOp>();
  if (!reshape)
    return {};
  backplane::Dims split = dimsOf(reshape.getX().getType());
  auto joined = joinedAxes(split, dimsOf(weight.getType()));
  bool joins = joined && split.size() > joined->size() &&
               llvm::all_of(ArrayRef(*joined).drop_front(2),
                            [](size_t count) { return count == 1; });
  bool isKnown = joins && split[(*joined)[0] + (*joined)[1] - 1].constant();
  return isKnown ? reshape.getX() : Value();
}

/// As one group, with outputs and inputs in blocks as those of the weight.
Value convolveBlocks(Lowering &lowering, const Convolution &c, Value blocks) {
  LoopNest nest{lowering.builder.getContext(), {}};
  backplane::Dims dims = dimsOf(blocks.getType());
  auto parts = *joinedAxes(dims, c.weightDims);
  AffineExpr batch = nest.parallel();
  Exprs outputs = nest.parallels(parts[0]);
  Exprs at = nest.parallels(c.spatial());
  Exprs inputs = nest.reductions(parts[1]);
  Exprs window = nest.reductions(c.spatial());
  AffineExpr input = joinedIndex(inputs, dims[parts[0] + parts[1] - 1]);
  View weight = lowering.permutedView(blocks);
  auto resultDims = c.resultDims;
  if (outputs.size() > 1)
    resultDims = splitAt(c.resultDims, 1, dims[0], dims[1]);
  AffineMap weightAt =
      weight.map.compose(nest.map(joined({outputs, inputs, window})));
  Value result = contract(lowering, c, weight.base, resultDims, nest,
                          Exprs(weightAt.getResults()), {batch, input},
                          windowed(at, window, c.strides, c.dilations),
                          joined({{batch}, outputs, at}));
  return reshaped(lowering, result, resultDims, c.resultDims);
}

} // namespace

Value lower::convolve(Lowering &lowering, const Convolution &c) {
  if (c.blocks)
    return convolveBlocks(lowering, c, c.blocks);
  if (c.groups == 1)
    return convolveOneGroup(lowering, c);
  return c.isDepthwise() ? convolveDepthwise(lowering, c)
                         : convolveGroups(lowering, c);
}

Image lower::splitImage(Lowering &lowering, const Convolution &c, Image image) {
  if (c.groups == 1 || c.isDepthwise())
    return image;
  auto dims = splitAt(image.dims, 1, Dim(c.groups), c.inputs());
  return {reshaped(lowering, image.tensor, image.dims, dims), dims};
}

LogicalResult lower::lowerConv(Lowering &lowering, ConvOp op) {
  Convolution c;
  c.element = elementOf(op.getX().getType());
  c.groups = op.getGroups();
  if (c.groups == 1)
    c.blocks = joinedBlocks(op.getW());
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
