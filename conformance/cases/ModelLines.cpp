// SPDX-License-Identifier: Apache-2.0
//
// Ops that work along axes or over windows, at sizes that models have:
// reductions, scans, sorting, norms, softmax, attention, pools.
#include "Geometry.h"
#include "Rows.h"

namespace backplane::conformance {

std::vector<Axis> threeAxes() {
  return {{"b", 1, 131072}, {"a", 1, 8192}, {"c", 1, 4096}};
}
std::vector<Axis> twoAxes() { return {{"b", 1, 131072}, {"a", 1, 65536}}; }

Dims middle(const SizeOf &size) { return {size("a"), size("b"), size("c")}; }
Dims last(const SizeOf &size) { return {size("a"), size("b")}; }

BuildModel alongB(const std::string &op, Dims (*dims)(const SizeOf &),
                  const Attributes &attributes) {
  return [=](CaseBuilder &builder, DType dtype, const SizeOf &size) {
    InputRule rule = termsOf(size("b"));
    bool isProduct = attributes.contains("kind") &&
                     std::get<std::string>(attributes.at("kind")) == "prod";
    if (isProduct && isFloat(dtype))
      rule = within(0.9999, 1.0001);
    builder.output(
        builder.add(op, {builder.input(dtype, dims(size), rule)}, attributes));
  };
}

Dims image(const SizeOf &size) {
  return {size("n"), size("c"), size("h"), size("w")};
}
std::vector<Axis> imageAxes(int64_t divisor) {
  return {{"n", 1, 32},
          {"c", divisor, 2048, divisor},
          {"h", 7, 224},
          {"w", 7, 224}};
}

ModelRow rankSix(const std::string &op, const Attributes &attributes) {
  std::vector<Axis> axes = {{"b", 1, 65536}};
  std::vector<std::string> repeated;
  for (const char *name : {"p", "q", "r", "a", "c"}) {
    axes.push_back({name, 1, 64});
    repeated.emplace_back(name);
  }
  auto dims = [](const SizeOf &size) {
    return Dims{size("p"), size("q"), size("r"),
                size("a"), size("b"), size("c")};
  };
  return {op, "models-rank6", axes, repeated, alongB(op, dims, attributes)};
}

namespace {

using I64s = std::vector<int64_t>;

std::vector<ModelRow> reductions() {
  std::vector<ModelRow> all;
  using Text = std::string;
  for (const char *kind : {"sum", "max", "min", "prod"}) {
    Attributes attributes = {{"kind", Text(kind)}, {"axes", I64s{1}}};
    all.push_back({"reduce",
                   Text("models-") + kind,
                   threeAxes(),
                   {"a", "c"},
                   alongB("reduce", middle, attributes)});
    all.push_back({"reduce",
                   Text("models-last-") + kind,
                   twoAxes(),
                   {"a"},
                   alongB("reduce", last, attributes)});
    all.push_back(
        {"cumulative",
         Text("models-") + kind,
         threeAxes(),
         {"a", "c"},
         alongB("cumulative", middle, {{"kind", Text(kind)}, {"axis", 1}})});
  }
  for (const char *kind : {"min", "max"})
    all.push_back(
        {"arg_reduce",
         Text("models-") + kind,
         threeAxes(),
         {"a", "c"},
         alongB("arg_reduce", middle, {{"kind", Text(kind)}, {"axis", 1}})});
  // Everything at once: lines of up to 16 M elements.
  constexpr double most = 1 << 24;
  std::vector<Axis> line = {{"b", 1, int64_t(1) << 24}, {"a", 1, 1}};
  all.push_back(
      {"reduce",
       "models-line",
       line,
       {},
       alongB("reduce", last, {{"kind", "sum"}, {"axes", I64s{0, 1}}}),
       {},
       most});
  all.push_back({"arg_reduce",
                 "models-line",
                 line,
                 {},
                 alongB("arg_reduce", last, {{"kind", "max"}, {"axis", 1}}),
                 {},
                 most});
  return all;
}

void topK(CaseBuilder &builder, DType dtype, const SizeOf &size) {
  ValueId x = builder.input(dtype, last(size));
  ValueId y = builder.add(
      "top_k", {x},
      {{"k", Dims{floorDiv(size("b"), 3)}}, {"axis", 1}, {"largest", 1}});
  builder.output(y);
  builder.output(y + 1);
}

/// Ops along the axis before the last one of six.
std::vector<ModelRow> ofRankSix() {
  return {rankSix("reduce", {{"kind", "sum"}, {"axes", I64s{4}}}),
          rankSix("arg_reduce", {{"kind", "max"}, {"axis", 4}}),
          rankSix("cumulative", {{"kind", "sum"}, {"axis", 4}})};
}

// ---- pools ----

BuildModel poolOf(const std::string &op, const I64s &window, int64_t stride,
                  int64_t padding, const std::string &kind) {
  return [=](CaseBuilder &builder, DType dtype, const SizeOf &size) {
    constexpr const char *names[] = {"h", "w", "d"};
    Dims dims = {size("n"), size("c")};
    for (size_t i = 0; i < window.size(); ++i)
      dims.push_back(size(names[i]));
    I64s ones(window.size(), 1), pads(window.size(), padding);
    Attributes attributes = {{"window", window},
                             {"strides", I64s(window.size(), stride)},
                             {"dilations", ones},
                             {"low", pads},
                             {"high", pads}};
    if (op == "pool")
      attributes["kind"] = kind;
    InputRule rule;
    int64_t terms = 1;
    for (int64_t taps : window)
      terms *= taps;
    rule.terms = terms;
    builder.output(
        builder.add(op, {builder.input(dtype, dims, rule)}, attributes));
  };
}

std::vector<ModelRow> pools() {
  std::vector<ModelRow> all;
  std::vector<std::string> outer = {"n", "c"};
  std::vector<Axis> line = {{"n", 1, 32}, {"c", 1, 2048}, {"h", 8, 16384}};
  std::vector<Axis> volume = imageAxes();
  for (Axis &axis : volume)
    axis.high = std::min<int64_t>(axis.high, 56 * 4);
  volume.push_back({"d", 7, 32});
  for (const char *kind : {"max", "sum"}) {
    std::string name = std::string("models-") + kind;
    all.push_back({"pool", name + "-3x3", imageAxes(), outer,
                   poolOf("pool", {3, 3}, 2, 1, kind)});
    all.push_back(
        {"pool", name + "-3", line, outer, poolOf("pool", {3}, 1, 1, kind)});
    all.push_back({"pool", name + "-2x2x2", volume, outer,
                   poolOf("pool", {2, 2, 2}, 2, 0, kind)});
  }
  all.push_back({"avg_pool", "models-2x2", imageAxes(), outer,
                 poolOf("avg_pool", {2, 2}, 2, 0, "")});
  all.push_back({"avg_pool", "models-7x7", imageAxes(), outer,
                 poolOf("avg_pool", {7, 7}, 1, 3, "")});
  return all;
}

/// All dtypes that an op computes with.
std::vector<DType> computedDTypes(const ModelRow &lines) {
  std::vector<DType> dtypes = dtypesOf(lines.op);
  if (lines.op == "reduce")
    std::erase_if(dtypes, [](DType dtype) {
      return bitWidth(dtype) < 8 || dtype == DType::Bool ||
             isStoredFloat(dtype);
    });
  return dtypes;
}

void putLines(const Sink &sink, const ModelRow &lines) {
  for (DType dtype : computedDTypes(lines)) {
    bool isMain = dtype == DType::F32;
    bool isUsual = dtype == DType::F16 || dtype == DType::BF16 ||
                   dtype == DType::I8 || dtype == DType::I32;
    if (!isMain && lines.oracleElements > 0 && !isUsual)
      continue;
    LargeGraph graph{.op = lines.op,
                     .dtype = dtype,
                     .variant = lines.variant,
                     .tags = {"size", "tail", "last-k", "accumulate"},
                     .axes = lines.axes,
                     .repeated = lines.repeated,
                     .build = {}};
    auto build = lines.build;
    graph.build = [=](CaseBuilder &builder, const SizeOf &size) {
      build(builder, dtype, size);
    };
    graph.numbers = lines.numbers;
    bool isSum =
        lines.op == "reduce" || lines.op == "cumulative" || lines.op == "pool";
    if (isSum && lines.variant.find("prod") == std::string::npos)
      graph.exactData = "integers";
    if (lines.oracleElements > 0)
      graph.dataSet = "integers";
    graph.isLargest = isMain || lines.oracleElements > 0;
    graph.slots = lines.oracleElements > 0 ? 2
                  : isMain                 ? SIZE_MAX
                  : isUsual                ? 5
                                           : 2;
    graph.statics = isMain ? 1 : 0;
    graph.oracleElements = lines.oracleElements;
    makeLarge(sink, graph);
  }
}

} // namespace

void makeModelLines(const Sink &sink) {
  std::vector<ModelRow> all = {{"top_k", "models", twoAxes(), {"a"}, topK}};
  for (auto part : {reductions, ofRankSix, normSizes, attentionSizes, pools})
    for (ModelRow &lines : part())
      all.push_back(std::move(lines));
  for (const ModelRow &lines : all)
    putLines(sink, lines);
}

} // namespace backplane::conformance
