// SPDX-License-Identifier: Apache-2.0
//
// All elementwise ops of the op table at sizes that models have, in ranks 1 to
// 6. Tables of attributes are here; an op with a required attribute that has
// none makes a unit without a graph, which CasesTest finds.
#include "LargeBuilder.h"
#include "Rules.h"
#include "sdk/graph/OpTable.h"

#include <algorithm>

namespace backplane::conformance {

namespace {

/// Models have ranks up to 6.
constexpr const char *names[] = {"a", "b", "c", "d", "e", "f"};

constexpr const char *directions[] = {"eq", "ne", "lt", "le", "gt", "ge"};

/// Each dtype and rank has one of the directions.
Attributes attributesFor(const std::string &op, DType dtype, size_t rank) {
  if (op == "clamp")
    return {{"low", 1.0}, {"high", 5.0}};
  if (op == "compare")
    return {{"direction", directions[(size_t(dtype) + rank) % 6]}};
  if (op != "cast")
    return {};
  DType to = dtype == DType::F32    ? DType::F16
             : dtype == DType::Bool ? DType::F32
             : isFloat(dtype)       ? DType::F32
             : dtype == DType::I64  ? DType::I32
                                    : DType::F32;
  return {{"dtype", static_cast<int64_t>(to)}};
}

InputRule ruleFor(const std::string &op, size_t operand) {
  if (op == "asin" || op == "acos" || op == "atanh")
    return within(-1.01, 1.01);
  if (op == "acosh")
    return within(0.99, 40);
  if (op == "sqrt" || op == "rsqrt" || op == "log" || op == "log1p")
    return within(-0.1, 40);
  if (op == "pow" && operand == 0)
    return within(0, 6);
  if ((op == "div" || op == "rem") && operand == 1)
    return {.kind = InputRule::Kind::Divisor};
  return {};
}

LargeGraph elementwiseOf(const OpSpec &spec, DType dtype, size_t rank) {
  LargeGraph graph{.op = std::string(spec.name),
                   .dtype = dtype,
                   .variant = rank == 1 ? "models"
                                        : "models-rank" + std::to_string(rank),
                   .tags = {"size", "tail", "index"},
                   .axes = {},
                   .repeated = {},
                   .build = {}};
  for (size_t axis = 0; axis < rank; ++axis) {
    int64_t most = rank == 1 ? int64_t(1) << 24 : rank < 4 ? 4096 : 512;
    graph.axes.push_back({names[axis], 1, most});
    graph.repeated.emplace_back(names[axis]);
  }
  graph.build = [&spec, dtype, rank](CaseBuilder &builder, const SizeOf &size) {
    std::string op(spec.name);
    Dims dims;
    for (size_t axis = 0; axis < rank; ++axis)
      dims.push_back(size(names[axis]));
    std::vector<ValueId> operands;
    for (size_t i = 0; i < static_cast<size_t>(spec.maxOperands); ++i) {
      bool isCondition = op == "select" && i == 0;
      operands.push_back(builder.input(isCondition ? DType::Bool : dtype, dims,
                                       ruleFor(op, i)));
    }
    builder.output(builder.add(op, operands, attributesFor(op, dtype, rank)));
  };
  if (!isFloat(dtype) && dtype != DType::Bool)
    graph.dataSet = "bits";
  return graph;
}

/// Elements that do not repeat, each of which the oracle answers for.
LargeGraph wholeOf(const OpSpec &spec, DType dtype) {
  LargeGraph graph = elementwiseOf(spec, dtype, 3);
  graph.variant = "attributes-0";
  graph.tags.emplace_back("drawn");
  askForEveryElement(graph);
  return graph;
}

/// f32 has three ranks; other dtypes one, and two slots where the usual ones
/// have four.
void putElementwise(const Sink &sink, const OpSpec &spec) {
  const std::vector<DType> dtypes = dtypesOf(spec.name);
  bool hasMain = std::ranges::count(dtypes, DType::F32) > 0;
  DType whole = hasMain ? DType::F32 : dtypes.front();
  if (spec.name != "cast")
    makeLarge(sink, wholeOf(spec, whole));
  for (DType dtype : dtypes) {
    bool isMain = dtype == DType::F32;
    bool isUsual = isMain || dtype == DType::F16 || dtype == DType::I8 ||
                   dtype == DType::I32 || dtype == DType::Bool;
    for (size_t rank : {1, 3, 6}) {
      if (!isMain && rank != (isUsual ? 1u : 3u))
        continue;
      LargeGraph graph = elementwiseOf(spec, dtype, rank);
      graph.isLargest = isMain && rank == 1;
      graph.slots = isMain ? 4 : isUsual ? 4 : 2;
      graph.statics = isMain && rank == 3 ? 1 : 0;
      makeLarge(sink, graph);
    }
  }
}

// ---- quantisation and chains ----

struct Chain {
  const char *variant, *op;
  DType dtype;
  void (*build)(CaseBuilder &builder, ValueId x, const Dims &dims);
};

ValueId spread(CaseBuilder &builder, ValueId scalar, const Dims &dims) {
  return builder.add("broadcast", {scalar},
                     {{"dims", dims}, {"axes", std::vector<int64_t>{}}});
}

/// round(x / scale) as i8, as models quantise.
void quantize(CaseBuilder &builder, ValueId x, const Dims &dims) {
  ValueId scale =
      spread(builder, builder.input(DType::F32, {}, within(0.02, 0.05)), dims);
  ValueId y = builder.add("round_even", {builder.add("div", {x, scale})});
  y = builder.add("clamp", {y}, {{"low", -128.0}, {"high", 127.0}});
  builder.output(
      builder.add("cast", {y}, {{"dtype", static_cast<int64_t>(DType::I8)}}));
}

void dequantize(CaseBuilder &builder, ValueId x, const Dims &dims) {
  ValueId scale = spread(builder, builder.input(DType::F32, {}), dims);
  ValueId y =
      builder.add("cast", {x}, {{"dtype", static_cast<int64_t>(DType::F32)}});
  builder.output(builder.add("mul", {y, scale}));
}

/// x + relu(x) * y, the gates and residuals of models.
void gate(CaseBuilder &builder, ValueId x, const Dims &dims) {
  ValueId y = builder.input(builder.graph().type(x).dtype, dims);
  builder.output(builder.add(
      "add", {x, builder.add("mul", {builder.add("relu", {x}), y})}));
}

void putChains(const Sink &sink) {
  for (const Chain &chain :
       {Chain{"models-quantize", "cast", DType::F32, quantize},
        {"models-dequantize", "cast", DType::I8, dequantize},
        {"models-gate", "add", DType::F32, gate},
        {"models-gate", "add", DType::F16, gate}}) {
    LargeGraph graph{.op = chain.op,
                     .dtype = chain.dtype,
                     .variant = chain.variant,
                     .tags = {"size", "tail", "index"},
                     .axes = {{"a", 1, 4096}, {"b", 1, 4096}, {"c", 1, 4096}},
                     .repeated = {"a", "b", "c"},
                     .build = {}};
    graph.build = [chain](CaseBuilder &builder, const SizeOf &size) {
      Dims dims = {size("a"), size("b"), size("c")};
      chain.build(builder, builder.input(chain.dtype, dims), dims);
    };
    graph.slots = 6;
    makeLarge(sink, graph);
  }
}

} // namespace

void makeModelElementwise(const Sink &sink) {
  for (const OpSpec &spec : opTable())
    if (spec.elementwise)
      putElementwise(sink, spec);
  putChains(sink);
}

} // namespace backplane::conformance
