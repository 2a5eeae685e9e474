// SPDX-License-Identifier: Apache-2.0
//
// Units of every op with each of its sizes 0 and 1: as symbols, which the call
// gives, and as numbers, which the compiler sees. A row of the table tells how
// an op is built from some sizes; CasesTest asks that each op has one.
#include "CaseBuilder.h"
#include "EdgeRows.h"
#include "sdk/graph/OpTable.h"

namespace backplane::conformance {

InputRule summed(const Dim &terms) {
  return {.kind = InputRule::Kind::Range, .terms = terms};
}

EdgeRow planeRow(const std::string &op, const Attributes &attributes,
                 DType dtype, uint32_t filled) {
  auto build = [=](CaseBuilder &m, const Dims &d) {
    ValueId first = m.add(op, {m.input(dtype, d, summed(d[1]))}, attributes);
    for (int i = 0; i < findOp(op)->results; ++i)
      m.output(first + static_cast<ValueId>(i));
  };
  return {op, dtype, 2, build, filled};
}

namespace {

using Kind = InputRule::Kind;

int64_t code(DType dtype) { return static_cast<int64_t>(dtype); }

// ---- elementwise ----

DType dtypeFor(const OpSpec &spec) {
  for (DType dtype : {DType::F32, DType::I32, DType::Bool})
    if (contains(spec.types, dtype))
      return dtype;
  return DType::F32;
}

Attributes attributesFor(const OpSpec &spec) {
  Attributes attributes;
  for (const AttributeSpec &attribute : spec.attributes)
    if (attribute.kind == AttributeKind::DType)
      attributes[std::string(attribute.name)] = code(DType::F64);
    else if (attribute.kind == AttributeKind::String && attribute.required)
      attributes[std::string(attribute.name)] =
          std::string(attribute.choices.substr(0, attribute.choices.find('|')));
    else if (attribute.kind == AttributeKind::F64 && attribute.required)
      attributes[std::string(attribute.name)] =
          attribute.name == "low" ? -0.5 : 0.5;
  return attributes;
}

/// Operands [a, b] all; the first one of select is a bool.
EdgeRow elementwiseRow(const OpSpec &spec) {
  DType dtype = dtypeFor(spec);
  auto build = [&spec, dtype](CaseBuilder &m, const Dims &d) {
    std::vector<ValueId> operands;
    for (int i = 0; i < spec.minOperands; ++i) {
      bool flags = spec.name == "select" && i == 0;
      InputRule rule{.kind = Kind::Within, .low = 0.25, .high = 0.75};
      if (dtype != DType::F32 || flags)
        rule = {.kind = Kind::Divisor};
      operands.push_back(m.input(flags ? DType::Bool : dtype, d, rule));
    }
    m.output(m.add(spec.name, operands, attributesFor(spec)));
  };
  return {std::string(spec.name), dtype, 2, build};
}

std::vector<EdgeRow> allRows() {
  std::vector<EdgeRow> rows;
  for (const OpSpec &spec : opTable())
    if (spec.elementwise)
      rows.push_back(elementwiseRow(spec));
  for (auto *part : {makingRows, movingRows, reducingRows, contractingRows,
                     normEdges, attentionEdges, layoutEdges})
    for (EdgeRow &row : part())
      rows.push_back(std::move(row));
  return rows;
}

// ---- units ----

/// All sizes 3, but each in turn 0 or 1, and all of them.
std::vector<std::vector<int64_t>> choices(const EdgeRow &row) {
  std::vector<std::vector<int64_t>> all;
  auto add = [&](std::vector<int64_t> sizes) {
    for (size_t i = 0; i < row.sizes; ++i)
      if (sizes[i] == 0 && (row.filled >> i & 1))
        return;
    all.push_back(std::move(sizes));
  };
  for (int64_t small : {0, 1}) {
    for (size_t i = 0; i < row.sizes; ++i) {
      std::vector<int64_t> sizes(row.sizes, 3);
      sizes[i] = small;
      add(sizes);
    }
    add(std::vector<int64_t>(row.sizes, small));
  }
  return all;
}

void makeSymbolic(const Sink &sink, const EdgeRow &row,
                  const std::string &variant) {
  CaseBuilder builder(sink, row.op, row.dtype, "edges" + variant,
                      {"zero-size", "tail"});
  Dims dims;
  for (size_t i = 0; i < row.sizes; ++i)
    dims.push_back(builder.symbol("d" + std::to_string(i)));
  // What makes tensors has no operand that would give the symbols.
  (void)builder.input(DType::I8, dims);
  row.build(builder, dims);
  for (const std::vector<int64_t> &sizes : choices(row)) {
    SymbolValues values;
    for (size_t i = 0; i < row.sizes; ++i)
      values["d" + std::to_string(i)] = sizes[i];
    builder.addCase(Depth::Standard, "uniform", values);
  }
  builder.finish();
}

void makeStatic(const Sink &sink, const EdgeRow &row,
                const std::string &variant) {
  CaseBuilder builder(sink, row.op, row.dtype, "edges-static" + variant,
                      {"zero-size", "tail"});
  bool named = row.op.starts_with("variable");
  for (const std::vector<int64_t> &sizes : choices(row)) {
    row.build(builder, Dims(sizes.begin(), sizes.end()));
    if (named)
      break; // one variable of a name
  }
  builder.addCase(Depth::Standard, "uniform");
  builder.finish();
}

} // namespace

void makeEdges(const Sink &sink) {
  std::map<std::string, int> seen;
  for (const EdgeRow &row : allRows()) {
    int number = seen[row.op + std::string(name(row.dtype))]++;
    std::string variant = number ? "-" + std::to_string(number) : "";
    if (row.symbolic)
      makeSymbolic(sink, row, variant);
    makeStatic(sink, row, variant);
  }
}

} // namespace backplane::conformance
