// SPDX-License-Identifier: Apache-2.0
//
// Units of attention and of rotary position embeddings.
#include "CaseBuilder.h"
#include "Rows.h"
#include "sdk/graph/OpTable.h"

#include <optional>

namespace backplane::conformance {

namespace {

/// b, s, t, d, e: numbers or symbols.
struct Axes {
  Dim b, s, t, d, e;
};

Axes oddSizes() { return {2, 17, 33, 16, 24}; }

/// Heads that models have, of several tiles of any device.
Axes tiledSizes() { return {1, 130, 200, 64, 64}; }

struct Attention {
  std::string variant;
  int64_t heads = 2, shared = 2; ///< of q; of k and v
  /// none, full, row (one row for all), heads (one for all heads)
  std::string mask = "none";
  std::optional<Dim> causal = {};
  double softCap = 0;
  std::optional<Axes> sizes = {}; ///< nothing: symbols
};

std::vector<Attention> attentions() {
  Dim s = Dim::symbol("s"), t = Dim::symbol("t");
  return {{"plain"},
          {"mask", 2, 2, "full"},
          {"mask-row", 3, 3, "row"},
          {"mask-heads", 2, 2, "heads"},
          {"causal", 2, 2, "none", Dim(0)},
          {"causal-late", 2, 2, "none", t - s},
          {"causal-before", 2, 2, "none", Dim(-2)},
          {"grouped", 6, 2, "none", Dim(0)},
          {"one-for-all", 4, 1, "full"},
          {"soft-cap", 2, 2, "none", std::nullopt, 5},
          {"static", 4, 2, "none", Dim(0), 0, oddSizes()},
          {"static-mask", 3, 3, "full", std::nullopt, 0, oddSizes()},
          {"tiles", 2, 2, "none", std::nullopt, 0, tiledSizes()},
          {"tiles-mask", 2, 2, "heads", std::nullopt, 0, tiledSizes()},
          {"tiles-causal", 4, 2, "none", Dim(70), 0, tiledSizes()}};
}

Axes axesOf(const Attention &attention, CaseBuilder &builder) {
  if (attention.sizes)
    return *attention.sizes;
  return {builder.symbol("b"), builder.symbol("s"), builder.symbol("t"),
          builder.symbol("d"), builder.symbol("e")};
}

Dims maskDims(const Attention &attention, const Axes &axes) {
  if (attention.mask == "row")
    return {1, 1, 1, axes.t};
  if (attention.mask == "heads")
    return {axes.b, 1, axes.s, axes.t};
  return {axes.b, attention.heads, axes.s, axes.t};
}

void addCases(CaseBuilder &builder, bool isStatic, bool isSmoke) {
  auto values = [&](int64_t b, int64_t s, int64_t t, int64_t d, int64_t e) {
    if (isStatic)
      return SymbolValues();
    return SymbolValues{{"b", b}, {"d", d}, {"e", e}, {"s", s}, {"t", t}};
  };
  SymbolValues plain = values(2, 7, 17, 16, 12);
  builder.addCase(isSmoke ? Depth::Smoke : Depth::Standard, "uniform", plain);
  for (const char *data : {"wide", "equal", "corners", "integers", "sparse"})
    builder.addCase(Depth::Standard, data, plain);
  if (isStatic)
    return;
  builder.addCase(Depth::Standard, "uniform", values(1, 1, 33, 8, 8));
  builder.addCase(Depth::Standard, "uniform", values(1, 16, 16, 31, 1));
  builder.addCase(Depth::Standard, "uniform", values(3, 5, 1, 1, 17));
  builder.addCase(Depth::Standard, "uniform", values(1, 65, 129, 4, 5));
  builder.addCase(Depth::Standard, "uniform", values(2, 0, 5, 4, 4));
  for (int64_t size : {15, 31, 63, 64, 127, 128}) {
    builder.addCase(Depth::Full, "uniform", values(1, size, size + 1, 32, 16));
    builder.addCase(Depth::Full, "corners", values(1, 2, size, 8, size));
  }
}

void makeAttention(const Sink &sink, DType dtype, const Attention &attention) {
  std::vector<std::string> tags = {"softmax-max", "tail", "last-k", "index"};
  if (attention.heads != attention.shared)
    tags.emplace_back("groups");
  if (attention.mask != "none")
    tags.emplace_back("broadcast");
  CaseBuilder builder(sink, "attention", dtype, attention.variant, tags);
  Axes axes = axesOf(attention, builder);
  // Scores stay of order 1, weights come from all columns.
  InputRule query;
  query.kind = InputRule::Kind::Range;
  std::vector<ValueId> operands = {
      builder.input(dtype, {axes.b, attention.heads, axes.s, axes.d}, query),
      builder.input(dtype, {axes.b, attention.shared, axes.t, axes.d}, query),
      builder.input(dtype, {axes.b, attention.shared, axes.t, axes.e})};
  if (attention.mask != "none")
    operands.push_back(builder.input(dtype, maskDims(attention, axes)));
  Dims causal;
  if (attention.causal)
    causal.push_back(*attention.causal);
  builder.output(builder.add(
      "attention", operands,
      {{"scale", 0.25}, {"soft_cap", attention.softCap}, {"causal", causal}}));
  bool isSmoke = (dtype == DType::F32 && attention.mask != "row") ||
                 (dtype == DType::F16 && (attention.variant == "plain" ||
                                          attention.variant == "tiles-causal"));
  addCases(builder, attention.sizes.has_value(), isSmoke);
  builder.finish();
}

void makeRotary(const Sink &sink, DType dtype, bool isInterleaved,
                bool isStatic) {
  CaseBuilder builder(sink, "rotary", dtype,
                      std::string(isInterleaved ? "interleaved" : "halves") +
                          (isStatic ? "-static" : ""),
                      {"index", "broadcast", "tail"});
  Dim b = isStatic ? Dim(2) : builder.symbol("b");
  Dim h = isStatic ? Dim(3) : builder.symbol("h");
  Dim s = isStatic ? Dim(17) : builder.symbol("s");
  int64_t half = isStatic ? 17 : 8;
  InputRule angle;
  angle.kind = InputRule::Kind::Range;
  std::vector<ValueId> operands = {
      builder.input(dtype, {b, h, s, Dim(2 * half)}),
      builder.input(dtype, {b, s, Dim(half)}, angle),
      builder.input(dtype, {b, s, Dim(half)}, angle)};
  builder.output(builder.add("rotary", operands,
                             {{"interleaved", int64_t(isInterleaved)}}));
  SymbolValues plain;
  if (!isStatic)
    plain = {{"b", 2}, {"h", 3}, {"s", 7}};
  bool isSmoke = dtype == DType::F32 && !isStatic;
  builder.addCase(isSmoke ? Depth::Smoke : Depth::Standard, "uniform", plain);
  for (const char *data : {"integers", "special", "bits", "corners"})
    builder.addCase(Depth::Standard, data, plain);
  for (int64_t size : {0, 1, 16, 33})
    if (!isStatic)
      builder.addCase(Depth::Standard, "uniform",
                      {{"b", 1}, {"h", 5}, {"s", size}});
  builder.finish();
}

// ---- rows of tables that all ops have ----

std::vector<Axis> headAxes() {
  return {{"s", 1, 4096}, {"t", 1, 4096},    {"b", 1, 16},
          {"h", 1, 32},   {"d", 16, 128, 2}, {"e", 16, 128}};
}

/// shared: heads of q that have one head of k and v in common.
BuildModel attentionOf(bool isCausal, bool hasMask, int64_t shared) {
  return [=](CaseBuilder &builder, DType dtype, const SizeOf &size) {
    Dim b = size("b"), h = size("h"), s = size("s"), t = size("t");
    InputRule query;
    query.kind = InputRule::Kind::Range;
    std::vector<ValueId> operands = {
        builder.input(dtype, {b, h * Dim(shared), s, size("d")}, query),
        builder.input(dtype, {b, h, t, size("d")}, query),
        builder.input(dtype, {b, h, t, size("e")})};
    if (hasMask)
      operands.push_back(builder.input(dtype, {b, 1, s, t}));
    builder.output(builder.add(
        "attention", operands,
        {{"scale", 0.125}, {"causal", isCausal ? Dims{t - s} : Dims{}}}));
  };
}

void rotary(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  Dim b = size("b"), s = size("s"), d = size("d");
  Dims angles = {b, s, floorDiv(d, 2)};
  builder.output(
      builder.add("rotary", {builder.input(dtype, {b, size("h"), s, d}),
                             builder.input(dtype, angles, within(-1, 1)),
                             builder.input(dtype, angles, within(-1, 1))}));
}

} // namespace

std::vector<EdgeRow> attentionEdges() {
  constexpr DType f32 = DType::F32;
  return {{"rotary", f32, 4,
           [](CaseBuilder &m, const Dims &d) {
             ValueId x = m.input(f32, {d[0], d[1], d[2], d[3] * Dim(2)});
             ValueId c = m.input(f32, {d[0], d[2], d[3]});
             ValueId s = m.input(f32, {d[0], d[2], d[3]});
             m.output(m.add("rotary", {x, c, s}));
           }},
          {"attention", f32, 5, [](CaseBuilder &m, const Dims &d) {
             ValueId q = m.input(f32, {d[0], 4, d[1], d[3]}, summed(d[3]));
             ValueId k = m.input(f32, {d[0], 2, d[2], d[3]}, summed(d[3]));
             ValueId v = m.input(f32, {d[0], 2, d[2], d[4]}, summed(d[2]));
             m.output(m.add("attention", {q, k, v},
                            {{"scale", 0.5}, {"causal", Dims{}}}));
           }}};
}

std::vector<ModelRow> attentionSizes() {
  std::vector<std::string> rows = {"b", "h", "s", "e"};
  std::vector<Axis> rotated = headAxes();
  std::erase_if(rotated, [](const Axis &axis) {
    return axis.symbol == "t" || axis.symbol == "e";
  });
  return {
      {"attention", "models", headAxes(), rows, attentionOf(false, false, 1)},
      {"attention", "models-mask", headAxes(), rows,
       attentionOf(false, true, 1)},
      {"attention",
       "models-causal",
       headAxes(),
       {"b", "h", "e"},
       attentionOf(true, false, 1)},
      {"attention",
       "models-grouped",
       headAxes(),
       {"b", "s", "e"},
       attentionOf(false, false, 4),
       {"h"}},
      {"rotary", "models", rotated, {"b", "h", "s"}, rotary, {"d"}}};
}

std::vector<PrecisionRow> attentionPrecision() {
  PrecisionRow::Operand angles{{1, 3, 32}, within(-1, 1)};
  return {{"rotary", {{{1, 2, 3, 64}}, angles, angles}},
          {"attention",
           {{{1, 2, 5, 64}}, {{1, 2, 40, 64}, within(-1, 1)}, {{1, 2, 40, 64}}},
           {{"scale", 1.0 / 512}, {"causal", Dims()}}}};
}

void makeAttentions(const Sink &sink) {
  for (DType dtype : dtypesOf("attention"))
    for (const Attention &attention : attentions())
      makeAttention(sink, dtype, attention);
  for (DType dtype : dtypesOf("rotary"))
    for (int variant = 0; variant < 4; ++variant)
      makeRotary(sink, dtype, variant & 1, variant & 2);
}

} // namespace backplane::conformance
