// SPDX-License-Identifier: Apache-2.0
//
// Units of norms and of exponentials along axes: data with a large mean, data
// that overflow without a shift, NaN in single lines.
#include "CaseBuilder.h"
#include "Rules.h"
#include "sdk/graph/OpTable.h"

#include <set>

namespace backplane::conformance {

namespace {

/// A unit of lines: `rows` lines of `columns` elements, however they lie.
struct Lines {
  std::string op, variant;
  Dims x;         ///< of symbols r and c, or of numbers
  Dims parameter; ///< dims of scale and bias
  Attributes attributes;
  /// Rules of the operands after x.
  std::vector<InputRule> others;
  std::vector<std::string> tags;
};

void addData(CaseBuilder &builder, Depth first, const SymbolValues &symbols) {
  for (const char *data : {"uniform", "shifted"})
    builder.addCase(first, data, symbols);
  for (const char *data :
       {"wide", "equal", "corners", "special", "cancel", "sparse"})
    builder.addCase(Depth::Standard, data, symbols);
}

void makeLines(const Sink &sink, DType dtype, const Lines &lines,
               bool isSmoke) {
  CaseBuilder builder(sink, lines.op, dtype, lines.variant, lines.tags);
  std::set<std::string> names;
  for (const Dim &dim : lines.x)
    dim.collectSymbols(names);
  for (const std::string &name : names)
    (void)builder.symbol(name);
  std::vector<ValueId> operands = {builder.input(dtype, lines.x)};
  for (const InputRule &rule : lines.others)
    operands.push_back(builder.input(dtype, lines.parameter, rule));
  builder.output(builder.add(lines.op, operands, lines.attributes));
  auto values = [&](int64_t rows, int64_t columns) {
    SymbolValues symbols;
    for (const std::string &name : names)
      symbols[name] = name == "r" ? rows : columns;
    return symbols;
  };
  addData(builder, isSmoke ? Depth::Smoke : Depth::Standard, values(17, 33));
  if (names.empty())
    return builder.finish();
  for (const auto &[rows, columns] : {std::pair(5, 1),
                                      {3, 2},
                                      {4, 16},
                                      {1, 31},
                                      {65, 15},
                                      {2, 257},
                                      {2, 1024},
                                      {0, 7}})
    builder.addCase(Depth::Standard, "uniform", values(rows, columns));
  builder.addCase(Depth::Standard, "shifted", values(9, 64));
  builder.addCase(Depth::Standard, "wide", values(3, 513));
  for (int64_t columns : {63, 64, 65, 127, 128, 129, 4096})
    for (const char *data : {"uniform", "wide", "sparse"})
      builder.addCase(Depth::Full, data, values(5, columns));
  builder.finish();
}

// ---- norms ----

std::vector<Lines> normLines() {
  Dim r = Dim::symbol("r"), c = Dim::symbol("c");
  InputRule scale = within(0.5, 2), bias = within(-1, 1);
  std::vector<std::string> tags = {"variance", "tail", "last-k", "index"};
  std::vector<Lines> all;
  for (const char *op : {"layer_norm", "rms_norm"}) {
    std::vector<InputRule> others = {scale};
    if (op == std::string("layer_norm"))
      others.push_back(bias);
    auto add = [&](const char *variant, Dims x, Dims parameter, int64_t axis,
                   double epsilon) {
      all.push_back({op,
                     variant,
                     std::move(x),
                     std::move(parameter),
                     {{"axis", axis}, {"epsilon", epsilon}},
                     others,
                     tags});
    };
    add("last", {r, c}, {c}, 1, 1e-5);
    add("two-axes", {r, 3, c}, {3, c}, 1, 1e-3);
    add("static", {2, 5, 65}, {65}, 2, 1e-5);
  }
  auto group = [&](const char *variant, Dims x, const Dim &channels,
                   int64_t groups) {
    all.push_back({"group_norm",
                   variant,
                   std::move(x),
                   {channels},
                   {{"groups", groups}, {"epsilon", 1e-5}},
                   {scale, bias},
                   tags});
    all.back().tags.emplace_back("groups");
  };
  group("one", {r, 3, c}, 3, 1);
  group("pairs", {r, 6, c, 2}, 6, 3);
  group("instance", {r, 5, c}, 5, 5);
  group("static", {2, 8, 5, 7}, 8, 2);
  return all;
}

std::vector<Lines> batchLines() {
  Dim r = Dim::symbol("r"), c = Dim::symbol("c");
  std::vector<InputRule> others = {within(0.5, 2), within(-1, 1), within(-2, 2),
                                   within(0.25, 4)};
  std::vector<Lines> all;
  for (const auto &[variant, x, channels] :
       {std::tuple("matrix", Dims{r, c}, c),
        {"image", Dims{r, c, 3, 5}, c},
        {"static", Dims{2, 7, 4, 9}, Dim(7)}})
    all.push_back({"batch_norm",
                   variant,
                   x,
                   {channels},
                   {{"epsilon", 1e-5}},
                   others,
                   {"index", "broadcast", "tail"}});
  return all;
}

// ---- exponentials ----

std::vector<Lines> exponentialLines() {
  using Axes = std::vector<int64_t>;
  Dim r = Dim::symbol("r"), c = Dim::symbol("c");
  std::vector<std::string> tags = {"softmax-max", "tail", "last-k", "nan"};
  std::vector<Lines> all;
  for (const char *op : {"softmax", "log_softmax"})
    for (const auto &[variant, x, axis] :
         {std::tuple("rows", Dims{r, c}, int64_t(1)),
          {"columns", Dims{c, r}, 0},
          {"static", Dims{3, 4, 65}, 2},
          {"static-middle", Dims{3, 17, 5}, 1}})
      all.push_back({op, variant, x, {}, {{"axis", axis}}, {}, tags});
  for (const auto &[variant, x, axes, keep] :
       {std::tuple("rows", Dims{r, c}, Axes{1}, int64_t(0)),
        {"columns", Dims{c, r}, Axes{0}, 1},
        {"outer", Dims{3, r, c}, Axes{0, 2}, 1},
        {"all", Dims{r, c}, Axes{0, 1}, 0},
        {"static", Dims{5, 127}, Axes{1}, 0}})
    all.push_back({"log_sum_exp",
                   variant,
                   x,
                   {},
                   {{"axes", axes}, {"keep", keep}},
                   {},
                   tags});
  return all;
}

bool isSmoke(const Lines &lines, DType dtype) {
  bool isFirst = lines.variant == "last" || lines.variant == "one" ||
                 lines.variant == "matrix" || lines.variant == "rows";
  return (isFirst && dtype == DType::F32) ||
         (lines.op == "group_norm" && lines.variant == "pairs" &&
          dtype == DType::F32) ||
         (lines.variant == "static" && dtype == DType::F16 &&
          lines.op == "layer_norm");
}

} // namespace

void makeNormalisations(const Sink &sink) {
  for (const auto &family : {normLines(), batchLines(), exponentialLines()})
    for (const Lines &lines : family)
      for (DType dtype : dtypesOf(lines.op))
        makeLines(sink, dtype, lines, isSmoke(lines, dtype));
}

} // namespace backplane::conformance
