// SPDX-License-Identifier: Apache-2.0
//
// Ops whose attributes are drawn from the seed of the run as well as their
// sizes: windows, strides, pads, groups, axes, permutations, kinds. Elements do
// not repeat, there are up to some 400,000, and the oracle answers for each. A
// fault that shows for some attributes or places alone is not prepared for.
#include "Data.h"
#include "DataSets.h"
#include "Geometry.h"
#include "LargeBuilder.h"
#include "Rules.h"
#include "sdk/graph/OpTable.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace backplane::conformance {

namespace {

using I64s = std::vector<int64_t>;

constexpr const char *axisNames[] = {"a", "b", "c", "d", "e", "f"};

/// Numbers of one unit.
class Dice {
public:
  explicit Dice(uint64_t seed) : seed_(seed) {}

  int64_t between(int64_t low, int64_t high) {
    auto count = static_cast<uint64_t>(high - low + 1);
    return low + static_cast<int64_t>(next() % count);
  }
  bool coin() { return between(0, 1) == 1; }
  /// Small numbers as often as large ones.
  int64_t size(int64_t high) {
    double share = fractionOf(next());
    return std::lround(std::pow(static_cast<double>(high), share));
  }
  template <typename T> T pick(std::initializer_list<T> all) {
    return all.begin()[between(0, std::ssize(all) - 1)];
  }
  I64s each(size_t count, int64_t low, int64_t high) {
    I64s all(count);
    for (int64_t &one : all)
      one = between(low, high);
    return all;
  }
  I64s permutation(size_t count) {
    I64s all(count);
    std::iota(all.begin(), all.end(), 0);
    for (size_t i = count; i > 1; --i)
      std::swap(all[i - 1], all[size_t(between(0, int64_t(i) - 1))]);
    return all;
  }
  /// Ascending axes below the rank, at least `least` of them.
  I64s axes(size_t rank, size_t least) {
    I64s all = permutation(rank);
    all.resize(size_t(between(int64_t(least), int64_t(rank))));
    std::ranges::sort(all);
    return all;
  }

private:
  uint64_t next() { return randomBits(seed_, count_++); }

  uint64_t seed_, count_ = 0;
};

/// What a unit is drawn for; gives axes and the function that builds it.
struct Drawing {
  Dice &dice;
  DType dtype;
  LargeGraph &graph;
  bool isSmall; ///< for a device with a small budget

  /// Axes a, b, … whose ranges are drawn.
  size_t rank(size_t low, size_t high) {
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
};

Dims dimsOf(const SizeOf &size, size_t rank) {
  Dims dims;
  for (size_t axis = 0; axis < rank; ++axis)
    dims.push_back(size(axisNames[axis]));
  return dims;
}

using Draw = void (*)(Drawing drawing);

// ---- windows ----

struct DrawnWindow {
  Geometry geometry;
  int64_t in = 1, out = 1; ///< channels

  Dims weights(bool isTransposed) const {
    Dims dims = isTransposed ? Dims{in, out / geometry.groups}
                             : Dims{out, in / geometry.groups};
    dims.insert(dims.end(), geometry.window.begin(), geometry.window.end());
    return dims;
  }
  int64_t terms(bool isTransposed) const {
    int64_t terms = isTransposed ? in : in / geometry.groups;
    for (int64_t taps : geometry.window)
      terms *= taps;
    return terms;
  }
};

constexpr const char *spatialNames[] = {"h", "w", "d"};

/// Adds axes n, h, w and d, which hold at least the span of the window.
Geometry drawGeometry(Drawing &drawing, bool isPool, bool isTransposed) {
  Dice &dice = drawing.dice;
  auto rank = static_cast<size_t>(dice.pick({1, 2, 2, 2, 3}));
  constexpr int64_t maxTaps[] = {0, 21, 11, 4}, fewTaps[] = {0, 5, 3, 2};
  Geometry geometry;
  drawing.graph.axes.push_back({"n", 1, 5});
  for (size_t i = 0; i < rank; ++i) {
    bool isSmall = drawing.isSmall;
    geometry.window.push_back(
        dice.between(1, (isSmall ? fewTaps : maxTaps)[rank]));
    geometry.strides.push_back(dice.pick({1, 1, 2, 3, 4, 5, 7, 8}));
    geometry.dilations.push_back(isSmall ? 1
                                         : dice.pick({1, 1, 2, 3, 5, 8, 12}));
    int64_t span = (geometry.window[i] - 1) * geometry.dilations[i] + 1;
    // A window of a pool that lies in padding alone has no elements.
    int64_t most = isPool || isTransposed ? (span - 1) / 2 : isSmall ? 1 : 11;
    geometry.low.push_back(dice.between(0, most));
    geometry.high.push_back(dice.between(0, most));
    int64_t least = isTransposed ? 1 : span;
    drawing.graph.axes.push_back(
        {spatialNames[i], least, least + dice.size(isTransposed ? 60 : 300)});
  }
  return geometry;
}

/// With channels for which the least image is no large case.
DrawnWindow drawWindow(Drawing &drawing, bool isPool, bool isTransposed) {
  Dice &dice = drawing.dice;
  DrawnWindow drawn{drawGeometry(drawing, isPool, isTransposed)};
  Geometry &geometry = drawn.geometry;
  int64_t pixels = 1, cost = 1;
  for (size_t i = 0; i < geometry.window.size(); ++i) {
    pixels *= (geometry.window[i] - 1) * geometry.dilations[i] + 1;
    cost *= geometry.window[i] *
            ((geometry.low[i] + geometry.high[i]) / geometry.strides[i] + 1);
  }
  int64_t room = std::max<int64_t>(
      (drawing.isSmall ? 100 : 100'000) / std::max(pixels, cost / 40), 1);
  bool isGrouped = !isPool && dice.coin();
  int64_t groups = dice.pick({2, 3, 7, 16, 40});
  geometry.groups = isGrouped ? std::min(groups, room) : 1;
  room = std::max<int64_t>(room / geometry.groups, 1);
  drawn.in = geometry.groups *
             std::min(room, dice.pick<int64_t>({1, 1, 2, 3, 16, 33}));
  drawn.out =
      geometry.groups * std::min(room, dice.pick<int64_t>({1, 2, 3, 8, 17}));
  return drawn;
}

Dims imageOf(const DrawnWindow &drawn, const SizeOf &size) {
  Dims dims = {size("n"), drawn.in};
  for (size_t i = 0; i < drawn.geometry.window.size(); ++i)
    dims.push_back(size(spatialNames[i]));
  return dims;
}

void drawConvolution(Drawing drawing) {
  bool isTransposed = drawing.graph.op == "conv_transpose";
  DrawnWindow drawn = drawWindow(drawing, false, isTransposed);
  Attributes attributes = attributesOf(drawn.geometry);
  attributes["groups"] = drawn.geometry.groups;
  if (isTransposed) {
    I64s more;
    for (int64_t stride : drawn.geometry.strides)
      more.push_back(drawing.dice.between(0, stride - 1));
    attributes["output_padding"] = more;
  }
  drawing.graph.build = [=, op = drawing.graph.op, dtype = drawing.dtype](
                            CaseBuilder &builder, const SizeOf &size) {
    InputRule rule = termsOf(drawn.terms(isTransposed));
    ValueId x = builder.input(dtype, imageOf(drawn, size), rule);
    ValueId w = builder.input(dtype, drawn.weights(isTransposed), rule);
    builder.output(builder.add(op, {x, w}, attributes));
  };
}

void drawSmallConvolution(Drawing drawing) {
  DrawnWindow drawn = drawWindow(drawing, false, false);
  Attributes attributes = attributesOf(drawn.geometry);
  attributes["groups"] = drawn.geometry.groups;
  DType other = drawing.dice.pick({DType::I8, DType::U8});
  bool isPerChannel = drawing.dice.coin();
  drawing.graph.dataSet = "bits";
  drawing.graph.build = [=, dtype = drawing.dtype](CaseBuilder &builder,
                                                   const SizeOf &size) {
    InputRule rule = termsOf(drawn.terms(false));
    ValueId x = builder.input(dtype, imageOf(drawn, size), rule);
    ValueId w = builder.input(other, drawn.weights(false), rule);
    ValueId zero = builder.input(dtype, {});
    Dims zeros = isPerChannel ? Dims{drawn.out} : Dims{};
    builder.output(builder.add(
        "conv_integer", {x, w, zero, builder.input(other, zeros)}, attributes));
  };
}

void drawPool(Drawing drawing) {
  DrawnWindow drawn = drawWindow(drawing, true, false);
  Geometry &geometry = drawn.geometry;
  Attributes attributes = {{"window", geometry.window},
                           {"strides", geometry.strides},
                           {"dilations", geometry.dilations},
                           {"low", geometry.low},
                           {"high", geometry.high}};
  if (drawing.graph.op == "pool")
    attributes["kind"] = std::string(drawing.dice.pick({"sum", "max", "min"}));
  else
    attributes["count_padding"] = int64_t(drawing.dice.coin());
  drawing.graph.build = [=, op = drawing.graph.op, dtype = drawing.dtype](
                            CaseBuilder &builder, const SizeOf &size) {
    ValueId x =
        builder.input(dtype, imageOf(drawn, size), termsOf(drawn.terms(false)));
    builder.output(builder.add(op, {x}, attributes));
  };
}

// ---- products ----

void drawProduct(Drawing drawing) {
  Dice &dice = drawing.dice;
  bool hasVector = dice.between(0, 3) == 0, isSmall = isFloat(drawing.dtype);
  auto batch = static_cast<size_t>(dice.between(0, 3));
  for (size_t axis = 0; axis < batch; ++axis)
    drawing.graph.axes.push_back({axisNames[axis], 1, 2 + dice.size(9)});
  int64_t most = isSmall ? 3000 : 1000;
  drawing.graph.axes.push_back({"k", 1, 30 + dice.size(most)});
  drawing.graph.axes.push_back({"m", 1, hasVector ? 1 : 30 + dice.size(most)});
  drawing.graph.axes.push_back({"n", 1, 30 + dice.size(most)});
  bool turnsA = dice.coin(), turnsB = dice.coin();
  bool isShared = batch > 0 && dice.coin(), swaps = dice.coin();
  drawing.graph.build = [=, dtype = drawing.dtype](CaseBuilder &builder,
                                                   const SizeOf &size) {
    Dim m = size(swaps ? "n" : "m"), n = size(swaps ? "m" : "n"), k = size("k");
    Dims a = dimsOf(size, batch), b = isShared ? Dims{} : a;
    for (const Dim &dim : turnsA ? Dims{k, m} : Dims{m, k})
      a.push_back(dim);
    for (const Dim &dim : turnsB ? Dims{n, k} : Dims{k, n})
      b.push_back(dim);
    ValueId x = builder.input(dtype, a, termsOf(k));
    ValueId y = builder.input(dtype, b, termsOf(k));
    builder.output(builder.add(
        "matmul", {x, y},
        {{"transpose_a", int64_t(turnsA)}, {"transpose_b", int64_t(turnsB)}}));
  };
}

void drawAttention(Drawing drawing) {
  Dice &dice = drawing.dice;
  int64_t shared = dice.pick({1, 1, 2, 3}),
          d = dice.between(1, drawing.isSmall ? 8 : 70);
  int64_t e = dice.between(1, drawing.isSmall ? 8 : 70),
          ahead = dice.between(-5, 40);
  int64_t heads = dice.between(1, 4);
  drawing.graph.axes = {
      {"b", 1, 3}, {"s", 1, 60}, {"t", 1, 20 + dice.size(300)}};
  bool isCausal = dice.coin(), hasMask = dice.coin(), isOneMask = dice.coin();
  double cap = dice.coin() ? 0 : 5;
  drawing.graph.build = [=, dtype = drawing.dtype](CaseBuilder &builder,
                                                   const SizeOf &size) {
    Dim b = size("b"), s = size("s"), t = size("t");
    InputRule query;
    query.kind = InputRule::Kind::Range;
    std::vector<ValueId> operands = {
        builder.input(dtype, {b, heads * shared, s, d}, query),
        builder.input(dtype, {b, heads, t, d}, query),
        builder.input(dtype, {b, heads, t, e})};
    if (hasMask)
      operands.push_back(
          builder.input(dtype, {isOneMask ? Dim(1) : b, Dim(1), s, t}));
    builder.output(
        builder.add("attention", operands,
                    {{"scale", 0.125},
                     {"soft_cap", cap},
                     {"causal", isCausal ? Dims{Dim(ahead)} : Dims{}}}));
  };
}

// ---- lines ----

/// x, the op, all its results.
void build(Drawing &drawing, size_t rank, const Attributes &attributes,
           const InputRule &rule = {}) {
  drawing.graph.build = [=, op = drawing.graph.op, dtype = drawing.dtype](
                            CaseBuilder &builder, const SizeOf &size) {
    ValueId x = builder.input(dtype, dimsOf(size, rank), rule);
    builder.output(builder.add(op, {x}, attributes));
  };
}

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
  build(drawing, rank, attributes,
        isProduct ? within(0.9999, 1.0001) : InputRule());
}

void drawCumulative(Drawing drawing) {
  size_t rank = drawing.rank(1, 5);
  auto kind = drawing.dice.pick({"sum", "sum", "max", "min"});
  build(drawing, rank,
        {{"kind", std::string(kind)},
         {"axis", drawing.dice.between(0, int64_t(rank) - 1)},
         {"exclusive", int64_t(drawing.dice.coin())},
         {"reverse", int64_t(drawing.dice.coin())}});
}

void drawArgument(Drawing drawing) {
  size_t rank = drawing.rank(1, 5);
  build(drawing, rank,
        {{"kind", std::string(drawing.dice.pick({"min", "max"}))},
         {"axis", drawing.dice.between(0, int64_t(rank) - 1)},
         {"keep", int64_t(drawing.dice.coin())},
         {"last", int64_t(drawing.dice.coin())}});
}

void drawTop(Drawing drawing) {
  size_t rank = drawing.rank(1, 4);
  int64_t axis = drawing.dice.between(0, int64_t(rank) - 1);
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
  build(drawing, rank, {{"axis", drawing.dice.between(0, int64_t(rank) - 1)}});
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

// ---- moves ----

void drawTranspose(Drawing drawing) {
  size_t rank = drawing.rank(2, 6);
  build(drawing, rank, {{"permutation", drawing.dice.permutation(rank)}});
}

void drawReverse(Drawing drawing) {
  size_t rank = drawing.rank(1, 5);
  build(drawing, rank, {{"axes", drawing.dice.axes(rank, 1)}});
}

void drawSlice(Drawing drawing) {
  size_t rank = drawing.rank(1, 5);
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
  auto axis = static_cast<size_t>(drawing.dice.between(0, int64_t(rank) - 1));
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
  auto axis = static_cast<size_t>(drawing.dice.between(0, int64_t(rank) - 1));
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
  auto axis = static_cast<size_t>(drawing.dice.between(0, int64_t(rank) - 1));
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
  build(drawing, rank, {{"dtype", int64_t(to)}});
}

// ---- units ----

struct Kind {
  const char *op;
  Draw draw;
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
      Dice dice(randomBits(hashText(id), sink.selection.seed));
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
