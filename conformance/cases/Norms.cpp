// SPDX-License-Identifier: Apache-2.0
//
// Units of norms and of exponentials along axes: data with a large mean, data
// that overflow without a shift, NaN in single lines.
#include "CaseBuilder.h"
#include "Rows.h"
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

// ---- rows of tables that all ops have ----

std::vector<ModelRow> exponentialSizes() {
  using Axes = std::vector<int64_t>;
  std::vector<ModelRow> all;
  for (const char *op : {"softmax", "log_softmax"}) {
    Attributes attributes = {{"axis", 1}};
    all.push_back(
        {op, "models", twoAxes(), {"a"}, alongB(op, last, attributes)});
    all.push_back({op,
                   "models-middle",
                   threeAxes(),
                   {"a", "c"},
                   alongB(op, middle, attributes)});
    all.push_back(rankSix(op, {{"axis", 4}}));
  }
  all.push_back({"log_sum_exp",
                 "models",
                 threeAxes(),
                 {"a", "c"},
                 alongB("log_sum_exp", middle, {{"axes", Axes{1}}})});
  all.push_back(rankSix("log_sum_exp", {{"axes", Axes{4}}}));
  return all;
}

/// A norm over the last axis with its parameters.
BuildModel normOf(const std::string &op, bool hasBias) {
  return [=](CaseBuilder &builder, DType dtype, const SizeOf &size) {
    std::vector<ValueId> operands = {
        builder.input(dtype, last(size)),
        builder.input(dtype, {size("b")}, within(0.5, 2))};
    if (hasBias)
      operands.push_back(builder.input(dtype, {size("b")}));
    builder.output(builder.add(op, operands, {{"axis", 1}}));
  };
}

void batchNorm(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  Dims channels = {size("c")};
  builder.output(builder.add(
      "batch_norm",
      {builder.input(dtype, image(size)), builder.input(dtype, channels),
       builder.input(dtype, channels), builder.input(dtype, channels),
       builder.input(dtype, channels, within(0.5, 2))}));
}

constexpr int64_t normGroups = 32;

void groupNorm(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  Dims channels = {size("c")};
  builder.output(builder.add("group_norm",
                             {builder.input(dtype, image(size)),
                              builder.input(dtype, channels),
                              builder.input(dtype, channels)},
                             {{"groups", normGroups}}));
}

void addNorm(CaseBuilder &m, const std::string &op, const Dims &dims,
             const Dims &inner, size_t operands, Attributes attributes) {
  Dim terms(1);
  for (size_t i = 1; i < dims.size(); ++i)
    terms = terms * dims[i];
  std::vector<ValueId> values{m.input(DType::F32, dims, summed(terms))};
  for (size_t i = 1; i < operands; ++i)
    values.push_back(m.input(DType::F32, inner, within(0.5, 1.5)));
  m.output(m.add(op, values, std::move(attributes)));
}

} // namespace

std::vector<EdgeRow> normEdges() {
  constexpr DType f32 = DType::F32;
  return {planeRow("softmax", {{"axis", 1}}),
          planeRow("log_softmax", {{"axis", 0}}),
          planeRow("log_sum_exp", {{"axes", std::vector<int64_t>{1}}}),
          {"layer_norm", f32, 2,
           [](CaseBuilder &m, const Dims &d) {
             addNorm(m, "layer_norm", d, {d[1]}, 3, {{"axis", 1}});
           }},
          {"rms_norm", f32, 2,
           [](CaseBuilder &m, const Dims &d) {
             addNorm(m, "rms_norm", d, {d[1]}, 2, {{"axis", 1}});
           }},
          {"batch_norm", f32, 3,
           [](CaseBuilder &m, const Dims &d) {
             addNorm(m, "batch_norm", d, {d[1]}, 5, {});
           }},
          {"group_norm", f32, 2, [](CaseBuilder &m, const Dims &d) {
             addNorm(m, "group_norm", {d[0], 4, d[1]}, {4}, 3, {{"groups", 2}});
           }}};
}

std::vector<ModelRow> normSizes() {
  std::vector<ModelRow> all = exponentialSizes();
  for (ModelRow &row : std::vector<ModelRow>{
           {"layer_norm",
            "models",
            twoAxes(),
            {"a"},
            normOf("layer_norm", true)},
           {"rms_norm", "models", twoAxes(), {"a"}, normOf("rms_norm", false)},
           {"batch_norm",
            "models",
            imageAxes(),
            {"n", "c", "h", "w"},
            batchNorm},
           {"group_norm",
            "models",
            imageAxes(normGroups),
            {"n"},
            groupNorm,
            {"c"}}})
    all.push_back(std::move(row));
  return all;
}

std::vector<PrecisionRow> normPrecision() {
  using Operand = PrecisionRow::Operand;
  Operand lines{{3, precisionColumns}};
  Operand scale{{precisionColumns}, within(0.5, 2)},
      bias{{precisionColumns}, within(-1, 1)};
  Operand image{{2, 6, 350}}, perChannel{{6}, within(0.5, 2)};
  Attributes row = {{"axis", 1}};
  return {
      {"softmax", {lines}, row},
      {"log_softmax", {lines}, row},
      {"log_sum_exp",
       {lines},
       {{"axes", std::vector<int64_t>{1}}, {"keep", 0}}},
      {"layer_norm", {lines, scale, bias}, row},
      {"rms_norm", {lines, scale}, row},
      {"group_norm",
       {image, perChannel, {{6}, within(-1, 1)}},
       {{"groups", 3}}},
      {"batch_norm",
       {image,
        perChannel,
        {{6}, within(-1, 1)},
        {{6}, within(900, 1100)},
        {{6}, within(900, 60000)}}},
  };
}

void makeNormalisations(const Sink &sink) {
  for (const auto &family : {normLines(), batchLines(), exponentialLines()})
    for (const Lines &lines : family)
      for (DType dtype : dtypesOf(lines.op))
        makeLines(sink, dtype, lines, isSmoke(lines, dtype));
}

} // namespace backplane::conformance
