// SPDX-License-Identifier: Apache-2.0
//
// Ops that work along axes or over windows, at sizes that models have:
// reductions, scans, sorting, norms, softmax, attention, pools.
#include "Geometry.h"
#include "LargeBuilder.h"
#include "Rules.h"

namespace backplane::conformance {

namespace {

using I64s = std::vector<int64_t>;
using Build =
    std::function<void(CaseBuilder &builder, DType dtype, const SizeOf &)>;

/// One graph, for several dtypes.
struct Lines {
  std::string op, variant;
  std::vector<Axis> axes;
  std::vector<std::string> repeated;
  Build build;
  std::vector<std::string> numbers = {}; ///< axes that must be numbers
  double oracleElements = 0;
};

/// Lines along b.
std::vector<Axis> threeAxes(int64_t longest = 131072) {
  return {{"b", 1, longest}, {"a", 1, 8192}, {"c", 1, 4096}};
}
std::vector<Axis> twoAxes() { return {{"b", 1, 131072}, {"a", 1, 65536}}; }

Dims middle(const SizeOf &size) { return {size("a"), size("b"), size("c")}; }
Dims last(const SizeOf &size) { return {size("a"), size("b")}; }

/// The dims of x, along whose axis 1 the op works, and attributes.
Build alongB(const std::string &op, Dims (*dims)(const SizeOf &),
             const Attributes &attributes, size_t results = 1) {
  return [=](CaseBuilder &builder, DType dtype, const SizeOf &size) {
    InputRule rule;
    rule.terms = size("b");
    bool isProduct = attributes.contains("kind") &&
                     std::get<std::string>(attributes.at("kind")) == "prod";
    if (isProduct && isFloat(dtype))
      rule = within(0.9999, 1.0001);
    ValueId y =
        builder.add(op, {builder.input(dtype, dims(size), rule)}, attributes);
    for (size_t result = 0; result < results; ++result)
      builder.output(y + static_cast<ValueId>(result));
  };
}

std::vector<Lines> reductions() {
  std::vector<Lines> all;
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
std::vector<Lines> ofRankSix() {
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
  const std::pair<const char *, Attributes> ops[] = {
      {"reduce", {{"kind", "sum"}, {"axes", I64s{4}}}},
      {"arg_reduce", {{"kind", "max"}, {"axis", 4}}},
      {"cumulative", {{"kind", "sum"}, {"axis", 4}}},
      {"softmax", {{"axis", 4}}},
      {"log_softmax", {{"axis", 4}}},
      {"log_sum_exp", {{"axes", I64s{4}}}}};
  std::vector<Lines> all;
  for (const auto &[op, attributes] : ops)
    all.push_back(
        {op, "models-rank6", axes, repeated, alongB(op, dims, attributes)});
  return all;
}

// ---- exponentials and norms ----

std::vector<Lines> exponentials() {
  std::vector<Lines> all;
  for (const char *op : {"softmax", "log_softmax"}) {
    Attributes attributes = {{"axis", 1}};
    all.push_back(
        {op, "models", twoAxes(), {"a"}, alongB(op, last, attributes)});
    all.push_back({op,
                   "models-middle",
                   threeAxes(),
                   {"a", "c"},
                   alongB(op, middle, attributes)});
  }
  all.push_back({"log_sum_exp",
                 "models",
                 threeAxes(),
                 {"a", "c"},
                 alongB("log_sum_exp", middle, {{"axes", I64s{1}}})});
  return all;
}

/// A norm over the last axis with its parameters.
Build normOf(const std::string &op, bool hasBias) {
  return [=](CaseBuilder &builder, DType dtype, const SizeOf &size) {
    std::vector<ValueId> operands = {
        builder.input(dtype, last(size)),
        builder.input(dtype, {size("b")}, within(0.5, 2))};
    if (hasBias)
      operands.push_back(builder.input(dtype, {size("b")}));
    builder.output(builder.add(op, operands, {{"axis", 1}}));
  };
}

Dims image(const SizeOf &size) {
  return {size("n"), size("c"), size("h"), size("w")};
}
std::vector<Axis> imageAxes(int64_t divisor = 1) {
  return {{"n", 1, 32},
          {"c", divisor, 2048, divisor},
          {"h", 7, 224},
          {"w", 7, 224}};
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

std::vector<Lines> norms() {
  return {
      {"layer_norm", "models", twoAxes(), {"a"}, normOf("layer_norm", true)},
      {"rms_norm", "models", twoAxes(), {"a"}, normOf("rms_norm", false)},
      {"batch_norm", "models", imageAxes(), {"n", "c", "h", "w"}, batchNorm},
      {"group_norm", "models", imageAxes(normGroups), {"n"}, groupNorm, {"c"}}};
}

// ---- attention ----

std::vector<Axis> headAxes() {
  return {{"s", 1, 4096}, {"t", 1, 4096},    {"b", 1, 16},
          {"h", 1, 32},   {"d", 16, 128, 2}, {"e", 16, 128}};
}

/// shared: heads of q that have one head of k and v in common.
Build attentionOf(bool isCausal, bool hasMask, int64_t shared) {
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

std::vector<Lines> attentions() {
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

// ---- pools ----

Build poolOf(const std::string &op, const I64s &window, int64_t stride,
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

std::vector<Lines> pools() {
  std::vector<Lines> all;
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
std::vector<DType> computedDTypes(const Lines &lines) {
  std::vector<DType> dtypes = dtypesOf(lines.op);
  if (lines.op == "reduce")
    std::erase_if(dtypes, [](DType dtype) {
      return bitWidth(dtype) < 8 || dtype == DType::Bool ||
             dtype == DType::F8E4M3FN || dtype == DType::F8E5M2;
    });
  return dtypes;
}

void putLines(const Sink &sink, const Lines &lines) {
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
  std::vector<Lines> all = {{"top_k", "models", twoAxes(), {"a"}, topK}};
  for (auto part :
       {reductions, ofRankSix, exponentials, norms, attentions, pools})
    for (Lines &lines : part())
      all.push_back(std::move(lines));
  for (const Lines &lines : all)
    putLines(sink, lines);
}

} // namespace backplane::conformance
