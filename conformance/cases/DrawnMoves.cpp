// SPDX-License-Identifier: Apache-2.0
//
// Ops that move elements, with drawn attributes.
#include "Drawing.h"
#include "Rules.h"

namespace backplane::conformance {

void drawTranspose(Drawing drawing) {
  size_t rank = drawing.rank(2, 6);
  buildAlone(drawing, rank, {{"permutation", drawing.dice.permutation(rank)}});
}

void drawReverse(Drawing drawing) {
  size_t rank = drawing.rank(1, 5);
  buildAlone(drawing, rank, {{"axes", drawing.dice.axes(rank, 1)}});
}

void drawSlice(Drawing drawing) {
  // The text of the product of more sizes than these may outgrow its limit.
  size_t rank = drawing.rank(1, 4);
  I64s strides = drawing.dice.each(rank, 1, 7);
  I64s parts = drawing.dice.each(rank, 2, 9);
  drawing.graph.build = [=, dtype = drawing.dtype](CaseBuilder &builder,
                                                   const SizeOf &size) {
    Dims dims = dimsOf(size, rank), starts, sizes;
    for (size_t i = 0; i < rank; ++i) {
      starts.push_back(floorDiv(dims[i], parts[i]));
      sizes.push_back(
          floorDiv(dims[i] - starts[i] + (strides[i] - 1), strides[i]));
    }
    builder.output(builder.add(
        "slice", {builder.input(dtype, dims)},
        {{"starts", starts}, {"sizes", sizes}, {"strides", strides}}));
  };
}

void drawConcat(Drawing drawing) {
  size_t rank = drawing.rank(1, 4);
  auto axis = static_cast<size_t>(drawing.axis(rank));
  I64s parts = drawing.dice.each(size_t(drawing.dice.between(2, 12)), 1, 9);
  parts[0] = 1; // an axis of an input gives each symbol
  drawing.graph.build = [=, dtype = drawing.dtype](CaseBuilder &builder,
                                                   const SizeOf &size) {
    std::vector<ValueId> operands;
    for (int64_t part : parts) {
      Dims dims = dimsOf(size, rank);
      dims[axis] = floorDiv(dims[axis], part);
      operands.push_back(builder.input(dtype, dims));
    }
    builder.output(builder.add("concat", operands, {{"axis", int64_t(axis)}}));
  };
}

void drawPad(Drawing drawing) {
  size_t rank = drawing.rank(1, 5);
  int64_t most = rank > 3 ? 2 : 9;
  I64s low = drawing.dice.each(rank, 0, most),
       high = drawing.dice.each(rank, 0, most);
  auto mode = drawing.dice.pick({"constant", "edge", "reflect"});
  // Reflections are shorter than the axis.
  for (Axis &axis : drawing.graph.axes)
    axis = {axis.symbol, most + 1, std::max(axis.high, most + 1)};
  drawing.graph.build = [=, dtype = drawing.dtype](CaseBuilder &builder,
                                                   const SizeOf &size) {
    ValueId x = builder.input(dtype, dimsOf(size, rank));
    builder.output(builder.add("pad", {x, builder.input(dtype, {})},
                               {{"low", Dims(low.begin(), low.end())},
                                {"high", Dims(high.begin(), high.end())},
                                {"mode", std::string(mode)}}));
  };
}

void drawBroadcast(Drawing drawing) {
  size_t rank = drawing.rank(2, 6);
  I64s axes = drawing.dice.axes(rank, 0);
  I64s ones = drawing.dice.each(axes.size(), 0, 2);
  // No input need have an axis that gives a symbol.
  for (const Axis &axis : drawing.graph.axes)
    drawing.graph.numbers.push_back(axis.symbol);
  drawing.graph.build = [=, dtype = drawing.dtype](CaseBuilder &builder,
                                                   const SizeOf &size) {
    Dims dims = dimsOf(size, rank), from;
    for (size_t i = 0; i < axes.size(); ++i)
      from.push_back(ones[i] == 0 ? Dim(1) : dims[size_t(axes[i])]);
    builder.output(builder.add("broadcast", {builder.input(dtype, from)},
                               {{"dims", dims}, {"axes", axes}}));
  };
}

void drawGather(Drawing drawing) {
  size_t rank = drawing.rank(1, 4);
  auto axis = static_cast<size_t>(drawing.axis(rank));
  bool isMatrix = drawing.dice.coin();
  DType index = drawing.dice.pick({DType::I64, DType::I32});
  drawing.graph.axes.push_back({"n", 1, 2 + drawing.dice.size(9000)});
  drawing.graph.build = [=, dtype = drawing.dtype](CaseBuilder &builder,
                                                   const SizeOf &size) {
    Dims dims = dimsOf(size, rank);
    Dims chosen = isMatrix ? Dims{3, size("n")} : Dims{size("n")};
    ValueId x = builder.input(dtype, dims);
    ValueId indices = builder.input(index, chosen, indexBelow(dims[axis]));
    builder.output(
        builder.add("gather", {x, indices}, {{"axis", int64_t(axis)}}));
  };
}

void drawScatter(Drawing drawing) {
  size_t rank = drawing.rank(1, 4);
  auto axis = static_cast<size_t>(drawing.axis(rank));
  auto combine = drawing.dice.pick({"none", "add", "add", "min", "max"});
  drawing.graph.axes.push_back({"n", 1, 2 + drawing.dice.size(40000)});
  drawing.graph.build = [=, dtype = drawing.dtype](CaseBuilder &builder,
                                                   const SizeOf &size) {
    Dims dims = dimsOf(size, rank), updates = dims;
    updates[axis] = size("n");
    InputRule rule = termsOf(size("n") + 1);
    ValueId x = builder.input(dtype, dims, rule);
    ValueId indices =
        builder.input(DType::I64, {size("n")}, indexBelow(dims[axis]));
    ValueId y = builder.input(dtype, updates, rule);
    builder.output(builder.add(
        "scatter", {x, indices, y},
        {{"axis", int64_t(axis)}, {"combine", std::string(combine)}}));
  };
}

void drawCast(Drawing drawing) {
  size_t rank = drawing.rank(1, 3);
  DType to = drawing.dtype;
  while (to == drawing.dtype)
    to = DType(drawing.dice.between(1, BP_DTYPE_COUNT_ - 1));
  buildAlone(drawing, rank, {{"dtype", int64_t(to)}});
}

} // namespace backplane::conformance
