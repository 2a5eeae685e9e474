// SPDX-License-Identifier: Apache-2.0
//
// Ops whose attributes are drawn from the seed of the run as well as their
// sizes: windows, strides, pads, groups, axes, permutations, kinds. Elements do
// not repeat, there are up to some 400,000, and the oracle answers for each. A
// fault that shows for some attributes or places alone is not prepared for.
#include "Drawing.h"
#include "Rules.h"

#include <algorithm>

namespace backplane::conformance {

size_t Drawing::rank(size_t low, size_t high) {
  auto rank = static_cast<size_t>(
      dice.between(static_cast<int64_t>(low), static_cast<int64_t>(high)));
  for (size_t axis = 0; axis < rank; ++axis) {
    int64_t most = rank == 1 ? int64_t(maxElements) : 2 + dice.size(4000);
    graph.axes.push_back({axisNames[axis], 1, most});
  }
  // Few elements would show little.
  if (rank > 1)
    graph.axes[size_t(dice.between(0, int64_t(rank) - 1))].high = 20000;
  return rank;
}

Dims dimsOf(const SizeOf &size, size_t rank) {
  Dims dims;
  for (size_t axis = 0; axis < rank; ++axis)
    dims.push_back(size(axisNames[axis]));
  return dims;
}

void buildAlone(Drawing &drawing, size_t rank, const Attributes &attributes,
                const InputRule &rule) {
  drawing.graph.build = [=, op = drawing.graph.op, dtype = drawing.dtype](
                            CaseBuilder &builder, const SizeOf &size) {
    ValueId x = builder.input(dtype, dimsOf(size, rank), rule);
    builder.output(builder.add(op, {x}, attributes));
  };
}

// ---- lines ----

void drawReduction(Drawing drawing) {
  size_t rank = drawing.rank(1, 6);
  I64s axes = drawing.dice.axes(rank, 1);
  auto kind = drawing.graph.op == "reduce"
                  ? drawing.dice.pick({"sum", "sum", "prod", "max", "min"})
                  : "";
  Attributes attributes = {{"axes", axes},
                           {"keep", int64_t(drawing.dice.coin())}};
  if (*kind)
    attributes["kind"] = std::string(kind);
  bool isProduct = std::string_view(kind) == "prod" && isFloat(drawing.dtype);
  buildAlone(drawing, rank, attributes,
             isProduct ? within(0.9999, 1.0001) : InputRule());
}

void drawCumulative(Drawing drawing) {
  size_t rank = drawing.rank(1, 5);
  auto kind = drawing.dice.pick({"sum", "sum", "max", "min"});
  buildAlone(drawing, rank,
             {{"kind", std::string(kind)},
              {"axis", drawing.axis(rank)},
              {"exclusive", int64_t(drawing.dice.coin())},
              {"reverse", int64_t(drawing.dice.coin())}});
}

void drawArgument(Drawing drawing) {
  size_t rank = drawing.rank(1, 5);
  buildAlone(drawing, rank,
             {{"kind", std::string(drawing.dice.pick({"min", "max"}))},
              {"axis", drawing.axis(rank)},
              {"keep", int64_t(drawing.dice.coin())},
              {"last", int64_t(drawing.dice.coin())}});
}

void drawTop(Drawing drawing) {
  size_t rank = drawing.rank(1, 4);
  int64_t axis = drawing.axis(rank);
  // Sorts take n log n, and each step waits for the one before.
  Axis &sorted = drawing.graph.axes[size_t(axis)];
  sorted.high = std::min<int64_t>(sorted.high, 65'536);
  int64_t part = drawing.dice.pick({1, 1, 2, 5});
  auto largest = int64_t(drawing.dice.coin());
  drawing.graph.build = [=, dtype = drawing.dtype](CaseBuilder &builder,
                                                   const SizeOf &size) {
    Dims dims = dimsOf(size, rank);
    Dim k = part == 1 ? dims[size_t(axis)] : floorDiv(dims[size_t(axis)], part);
    ValueId x = builder.input(dtype, dims);
    ValueId y = builder.add(
        "top_k", {x}, {{"k", Dims{k}}, {"axis", axis}, {"largest", largest}});
    builder.output(y);
    builder.output(y + 1);
  };
}

void drawSoftmax(Drawing drawing) {
  size_t rank = drawing.rank(1, 5);
  buildAlone(drawing, rank, {{"axis", drawing.axis(rank)}});
}

void drawNorm(Drawing drawing) {
  size_t rank = drawing.rank(2, 5);
  auto axis = static_cast<size_t>(drawing.dice.between(1, int64_t(rank) - 1));
  drawing.graph.build = [=, op = drawing.graph.op, dtype = drawing.dtype](
                            CaseBuilder &builder, const SizeOf &size) {
    Dims dims = dimsOf(size, rank);
    Dims inner(dims.begin() + std::ptrdiff_t(axis), dims.end());
    std::vector<ValueId> operands = {
        builder.input(dtype, dims),
        builder.input(dtype, inner, within(0.5, 2))};
    if (op == "layer_norm")
      operands.push_back(builder.input(dtype, inner));
    builder.output(builder.add(op, operands, {{"axis", int64_t(axis)}}));
  };
}

namespace {

// ---- units ----

struct Kind {
  const char *op;
  void (*draw)(Drawing drawing);
  std::vector<std::pair<DType, size_t>> units; ///< of a dtype, how many
};

std::vector<Kind> kinds() {
  using enum DType;
  return {
      {"conv", drawConvolution, {{F32, 14}, {F16, 4}, {I32, 2}}},
      {"conv_transpose", drawConvolution, {{F32, 8}, {F16, 2}}},
      {"conv_integer", drawSmallConvolution, {{I8, 4}, {U8, 4}}},
      {"pool", drawPool, {{F32, 8}, {F16, 2}, {I8, 2}}},
      {"avg_pool", drawPool, {{F32, 4}, {F16, 2}}},
      {"matmul", drawProduct, {{F32, 14}, {F16, 5}, {I32, 3}, {F64, 2}}},
      {"attention", drawAttention, {{F32, 6}, {F16, 2}}},
      {"reduce", drawReduction, {{F32, 12}, {F16, 3}, {I32, 3}}},
      {"log_sum_exp", drawReduction, {{F32, 3}}},
      {"cumulative", drawCumulative, {{F32, 6}, {I64, 3}}},
      {"arg_reduce", drawArgument, {{F32, 6}, {I8, 3}}},
      {"top_k", drawTop, {{F32, 6}, {I32, 3}}},
      {"softmax", drawSoftmax, {{F32, 4}, {F16, 2}}},
      {"log_softmax", drawSoftmax, {{F32, 2}}},
      {"layer_norm", drawNorm, {{F32, 4}, {F16, 2}}},
      {"rms_norm", drawNorm, {{F32, 3}}},
      {"transpose", drawTranspose, {{F32, 10}, {I8, 3}, {I64, 2}}},
      {"reverse", drawReverse, {{F32, 3}, {I8, 1}}},
      {"slice", drawSlice, {{F32, 8}, {I8, 2}}},
      {"concat", drawConcat, {{F32, 6}, {I8, 2}}},
      {"pad", drawPad, {{F32, 8}, {I8, 2}}},
      {"broadcast", drawBroadcast, {{F32, 8}, {I64, 2}}},
      {"gather", drawGather, {{F32, 6}, {I8, 2}, {F16, 1}}},
      {"scatter", drawScatter, {{F32, 8}, {I32, 3}, {F16, 2}}},
      {"cast",
       drawCast,
       {{F32, 5}, {F16, 3}, {I32, 3}, {I64, 3}, {I8, 3}, {U8, 2}, {Bool, 1}}}};
}

void putKind(const Sink &sink, const Kind &kind) {
  bool isSmall =
      limitsOf(Depth::Standard, sink.selection.budget).work < 1 << 24;
  for (auto [dtype, count] : kind.units)
    for (size_t i = 0; i < count; ++i) {
      LargeGraph graph{.op = kind.op,
                       .dtype = dtype,
                       .variant = "attributes-" + std::to_string(i),
                       .tags = {"drawn", "size", "index", "tail"},
                       .axes = {},
                       .repeated = {},
                       .build = {}};
      std::string id = graph.op + std::string(name(dtype)) + graph.variant;
      AttributeDice dice(randomBits(hashText(id), sink.selection.seed));
      graph.dataSet = isFloat(dtype) ? "uniform" : "bits";
      kind.draw({dice, dtype, graph, isSmall});
      if (i % 2)
        for (const Axis &axis : graph.axes)
          graph.numbers.push_back(axis.symbol);
      askForEveryElement(graph);
      makeLarge(sink, graph);
    }
}

} // namespace

void makeDrawn(const Sink &sink) {
  for (const Kind &kind : kinds())
    putKind(sink, kind);
}

} // namespace backplane::conformance
