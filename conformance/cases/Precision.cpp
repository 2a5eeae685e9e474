// SPDX-License-Identifier: Apache-2.0
//
// Units of intermediate precision: every composite that computes, and every sum
// and product, on narrow floats whose squares, means and partial sums f16
// cannot hold or bf16 cannot count. A composite that has no entry here gives a
// unit without a graph, which CasesTest finds.
#include "CaseBuilder.h"
#include "Rows.h"
#include "sdk/graph/OpTable.h"

namespace backplane::conformance {

namespace {

using Axes = std::vector<int64_t>;

using Operand = PrecisionRow::Operand;

std::vector<PrecisionRow> otherComposites() {
  Operand n{{1021}};
  return {
      {"clamp", {n}, {{"low", -900.0}, {"high", 900.0}}},
      {"prelu", {n, {{1021}, within(-2, 2)}}},
      {"avg_pool",
       {{{1, 3, 40, 44}}},
       {{"window", Axes{20, 20}},
        {"strides", Axes{5, 8}},
        {"dilations", Axes{1, 1}},
        {"low", Axes{1, 0}},
        {"high", Axes{1, 0}}}},
  };
}

/// The entry of a composite; elementwise ones of one operand need none.
PrecisionRow useOf(const OpSpec &spec) {
  for (const auto &list :
       {normPrecision(), attentionPrecision(), otherComposites()})
    for (const PrecisionRow &use : list)
      if (use.op == spec.name)
        return use;
  return {spec.name, {{{1021}}}};
}

Attributes windows(size_t rank, Attributes others) {
  for (const char *name : {"strides", "dilations"})
    others[name] = Axes(rank, 1);
  for (const char *name : {"low", "high"})
    others[name] = Axes(rank, 0);
  return others;
}

/// Sums and products; `swing` has exact results of any order in f32.
std::vector<PrecisionRow> sums() {
  Operand lines{{3, precisionColumns}}, lots{{precisionColumns, 3}};
  Attributes row = {{"axis", 1}};
  auto kind = [](Attributes attributes, const char *name) {
    attributes["kind"] = std::string(name);
    return attributes;
  };
  std::vector<const char *> added = {"swing", "far"}, multiplied = {"factors"};
  InputRule index;
  index.kind = InputRule::Kind::Index;
  index.bound = 2;
  Operand targets{{3, 2}}, updates{{3, 40}}, names{{40}, index};
  auto combine = [&](const char *name) {
    return Attributes{{"axis", 1}, {"combine", std::string(name)}};
  };
  return {
      {"reduce", {lines}, kind({{"axes", Axes{1}}}, "sum"), added},
      {"reduce", {lots}, kind({{"axes", Axes{0}}}, "sum"), added},
      {"reduce", {lines}, kind({{"axes", Axes{1}}}, "prod"), multiplied},
      {"cumulative", {lines}, kind(row, "sum"), added},
      {"cumulative", {lines}, kind(row, "prod"), multiplied},
      {"pool",
       {{{1, 3, 8, 60}}},
       kind(windows(2, {{"window", Axes{2, 40}}}), "sum"),
       added},
      {"scatter", {targets, names, updates}, combine("add"), {"far"}},
      {"scatter", {targets, names, updates}, combine("mul"), multiplied},
      {"matmul", {lines, {{precisionColumns, 4}}}, {}, {"swing"}},
      {"conv", {{{1, 40, 5, 6}}, {{3, 40, 3, 3}}}, windows(2, {}), {"swing"}},
      {"conv_transpose",
       {{{1, 40, 5, 6}}, {{40, 3, 3, 3}}},
       windows(2, {{"output_padding", Axes{0, 0}}}),
       {"swing"}},
      {"matmul",
       {lines, {{precisionColumns, 4}}},
       {{"wide", 1}},
       {"swing", "far"}},
      {"conv",
       {{{1, 40, 5, 6}}, {{3, 40, 3, 3}}},
       windows(2, {{"wide", 1}}),
       {"swing", "far"}},
      {"conv_transpose",
       {{{1, 40, 5, 6}}, {{40, 3, 3, 3}}},
       windows(2, {{"output_padding", Axes{0, 0}}, {"wide", 1}}),
       {"swing", "far"}},
  };
}

void makeUse(const Sink &sink, DType dtype, const PrecisionRow &use,
             const std::string &variant, std::vector<std::string> tags) {
  CaseBuilder builder(sink, std::string(use.op), dtype, variant,
                      std::move(tags));
  std::vector<ValueId> operands;
  for (const Operand &operand : use.operands) {
    bool isIndex = operand.rule.kind == InputRule::Kind::Index;
    operands.push_back(builder.input(isIndex ? DType::I64 : dtype, operand.dims,
                                     operand.rule));
  }
  builder.output(builder.add(use.op, operands, use.attributes));
  for (const char *data : use.data)
    builder.addCase(Depth::Standard, data);
  builder.finish();
}

/// Whether a composite only moves elements.
bool moves(const OpSpec &spec) {
  return spec.name == "pack" || spec.name == "unpack";
}

} // namespace

void makePrecision(const Sink &sink) {
  for (DType dtype : {DType::F16, DType::BF16}) {
    for (const OpSpec &spec : opTable())
      if (spec.composite && !moves(spec) && contains(spec.types, dtype))
        makeUse(sink, dtype, useOf(spec), "precision", {"precision", "last-k"});
    size_t number = 0;
    for (const PrecisionRow &use : sums())
      makeUse(sink, dtype, use, "precision-" + std::to_string(++number),
              {"narrow-sum", "accumulate"});
  }
}

} // namespace backplane::conformance
