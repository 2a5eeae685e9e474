// SPDX-License-Identifier: Apache-2.0
//
// Windows, products and attention whose attributes are drawn.
#include "Drawing.h"
#include "Geometry.h"
#include "Rules.h"

#include <algorithm>

namespace backplane::conformance {

namespace {

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
  AttributeDice &dice = drawing.dice;
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
  AttributeDice &dice = drawing.dice;
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

} // namespace

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
  AttributeDice &dice = drawing.dice;
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
  AttributeDice &dice = drawing.dice;
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

} // namespace backplane::conformance
