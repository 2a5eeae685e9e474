// SPDX-License-Identifier: Apache-2.0
//
// Units of every op with each of its sizes 0 and 1: as symbols, which the call
// gives, and as numbers, which the compiler sees. A row of the table tells how
// an op is built from some sizes; CasesTest asks that each op has one.
#include "CaseBuilder.h"
#include "Rows.h"
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

using Axes = std::vector<int64_t>;
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

// ---- making and moving ----

/// As many rows as elements of the input are above 0.
void addRead(CaseBuilder &m, const Dims &d) {
  ValueId zeros =
      m.add("constant", {},
            {{"value", Bytes(4)}, {"dtype", code(DType::F32)}, {"dims", d}});
  ValueId mask =
      m.add("compare", {m.input(DType::F32, d), zeros}, {{"direction", "gt"}});
  ValueId count =
      m.add("reduce", {m.add("cast", {mask}, {{"dtype", code(DType::I64)}})},
            {{"kind", "sum"}, {"axes", Axes{0, 1}}});
  // A unit may hold several.
  std::string name = "rows" + std::to_string(m.graph().symbols.size());
  Dim rows = m.symbol(name);
  m.output(
      m.add("read", {count}, {{"symbol", name}, {"bound", Dims{d[0] * d[1]}}}));
  m.output(m.add("iota", {},
                 {{"dtype", code(DType::I64)}, {"dims", Dims{rows, d[1]}}}));
}

std::vector<EdgeRow> makingRows() {
  constexpr DType f32 = DType::F32;
  return {{"weight", f32, 2,
           [](CaseBuilder &m, const Dims &d) {
             m.output(m.add("neg", {m.weight(f32, d)}));
           },
           0, false},
          {"constant", f32, 2,
           [](CaseBuilder &m, const Dims &d) {
             m.output(m.add("constant", {},
                            {{"value", Bytes{0, 0, 128, 63}},
                             {"dtype", code(f32)},
                             {"dims", d}}));
           }},
          {"iota", f32, 2,
           [](CaseBuilder &m, const Dims &d) {
             m.output(m.add("iota", {},
                            {{"dtype", code(f32)}, {"dims", d}, {"axis", 1}}));
           }},
          {"random_bits", DType::U64, 2,
           [](CaseBuilder &m, const Dims &d) {
             ValueId key = m.input(DType::U64, {});
             m.output(m.add("random_bits", {key, key}, {{"dims", d}}));
           }},
          {"dim", DType::I64, 2,
           [](CaseBuilder &m, const Dims &d) {
             m.output(
                 m.add("dim", {}, {{"value", Dims{d[0], d[0] * d[1], d[1]}}}));
           }},
          {"variable_read", f32, 2,
           [](CaseBuilder &m, const Dims &d) {
             m.variable("v", f32, d);
             m.output(
                 m.add("variable_read", {},
                       {{"variable", "v"}, {"dtype", code(f32)}, {"dims", d}}));
           },
           0, false},
          {"variable_write", f32, 2,
           [](CaseBuilder &m, const Dims &d) {
             m.variable("v", f32, d);
             ValueId old =
                 m.add("variable_read", {},
                       {{"variable", "v"}, {"dtype", code(f32)}, {"dims", d}});
             m.add("variable_write", {m.add("mul", {old, m.input(f32, d)})},
                   {{"variable", "v"}});
             m.output(old);
           },
           0, false},
          {"read", f32, 2, addRead}};
}

void addPads(CaseBuilder &m, const Dims &d, const std::string &mode) {
  ValueId x = m.input(DType::F32, d), value = m.input(DType::F32, {});
  m.output(m.add("pad", {x, value},
                 {{"low", Dims{1, 0}},
                  {"high", Dims{0, mode == "reflect" ? 0 : 2}},
                  {"mode", mode}}));
}

std::vector<EdgeRow> movingRows() {
  constexpr DType f32 = DType::F32;
  return {
      {"broadcast", f32, 3,
       [](CaseBuilder &m, const Dims &d) {
         m.output(m.add(
             "broadcast", {m.input(f32, {d[0], 1, d[2]})},
             {{"dims", Dims{2, d[0], d[1], d[2]}}, {"axes", Axes{1, 2, 3}}}));
       }},
      {"reshape", f32, 2,
       [](CaseBuilder &m, const Dims &d) {
         ValueId x = m.input(f32, {d[0], 2, d[1]});
         ValueId y = m.add("transpose", {x}, {{"permutation", Axes{2, 0, 1}}});
         m.output(m.add("reshape", {y}, {{"dims", Dims{d[1], d[0] * Dim(2)}}}));
       }},
      planeRow("transpose", {{"permutation", Axes{1, 0}}}),
      {"slice", f32, 2,
       [](CaseBuilder &m, const Dims &d) {
         Dims starts{min(d[0], Dim(1)), 0};
         Dims sizes{d[0] - starts[0], ceilDiv(d[1], Dim(2))};
         m.output(m.add(
             "slice", {m.input(f32, d)},
             {{"starts", starts}, {"sizes", sizes}, {"strides", Axes{1, 2}}}));
       }},
      {"concat", f32, 3,
       [](CaseBuilder &m, const Dims &d) {
         ValueId x = m.input(f32, {d[0], d[2]}), y = m.input(f32, {d[1], d[2]});
         m.output(m.add("concat", {x, y, x}, {{"axis", 0}}));
       }},
      {"pad", f32, 2,
       [](CaseBuilder &m, const Dims &d) { addPads(m, d, "constant"); }},
      {"pad", f32, 2,
       [](CaseBuilder &m, const Dims &d) { addPads(m, d, "edge"); }, 3},
      planeRow("reverse", {{"axes", Axes{0, 1}}}),
      {"gather", f32, 3,
       [](CaseBuilder &m, const Dims &d) {
         ValueId x = m.input(f32, {d[0], d[1]});
         ValueId i = m.input(DType::I64, {d[2]}, indexBelow(d[0]));
         m.output(m.add("gather", {x, i}, {{"axis", 0}}));
       },
       1},
      {"scatter", f32, 3,
       [](CaseBuilder &m, const Dims &d) {
         ValueId x = m.input(f32, {d[0], d[1]});
         ValueId i = m.input(DType::I64, {d[2]}, indexBelow(d[0]));
         ValueId u = m.input(f32, {d[2], d[1]});
         m.output(
             m.add("scatter", {x, i, u}, {{"axis", 0}, {"combine", "max"}}));
       },
       1}};
}

// ---- reductions ----

Attributes reduction(const char *kind, int64_t axis) {
  return {{"kind", std::string(kind)}, {"axes", Axes{axis}}};
}

std::vector<EdgeRow> reducingRows() {
  std::vector<EdgeRow> rows = {
      planeRow("arg_reduce", {{"kind", "max"}, {"axis", 1}}, DType::F32, 2),
      planeRow("cumulative", {{"kind", "sum"}, {"axis", 1}}),
      {"top_k", DType::F32, 2, [](CaseBuilder &m, const Dims &d) {
         ValueId best = m.add("top_k", {m.input(DType::F32, d)},
                              {{"k", Dims{min(d[1], Dim(2))}}, {"axis", 1}});
         m.output(best);
         m.output(best + 1);
       }}};
  for (const char *kind : {"sum", "prod", "min", "max"})
    for (int64_t axis : {0, 1})
      rows.push_back(planeRow("reduce", reduction(kind, axis)));
  rows.push_back(planeRow("reduce", reduction("min", 1), DType::I32));
  rows.push_back(planeRow("reduce", reduction("and", 1), DType::Bool));
  return rows;
}

// ---- products and windows ----

ValueId product(CaseBuilder &m, const Dims &d, bool swapped, DType dtype) {
  ValueId a = m.input(dtype, {d[0], d[1], d[3]}, summed(d[3]));
  ValueId b =
      m.input(dtype, swapped ? Dims{d[0], d[2], d[3]} : Dims{d[0], d[3], d[2]},
              summed(d[3]));
  return m.add("matmul", {a, b}, {{"transpose_b", int64_t(swapped)}});
}

/// Windows of 2 over two spatial axes.
Attributes windows(int64_t low, int64_t stride) {
  return {{"strides", Axes{stride, 1}},
          {"dilations", Axes{1, 1}},
          {"low", Axes{low, low}},
          {"high", Axes{1, 1}}};
}

Attributes with(Attributes attributes, const std::string &name,
                Attribute value) {
  attributes[name] = std::move(value);
  return attributes;
}

void addConv(CaseBuilder &m, const Dims &d, const std::string &op,
             DType dtype) {
  bool transposed = op == "conv_transpose";
  Dim terms = d[1] * Dim(4);
  ValueId x = m.input(dtype, {d[0], d[1], d[3], 3}, summed(terms));
  ValueId w = m.input(
      dtype, transposed ? Dims{d[1], d[2], 2, 2} : Dims{d[2], d[1], 2, 2},
      summed(terms));
  std::vector<ValueId> operands{x, w};
  Attributes attributes = windows(1, 2);
  if (transposed)
    attributes["output_padding"] = Axes{0, 0};
  if (op == "conv_integer") {
    operands.push_back(m.input(dtype, {}));
    operands.push_back(m.input(dtype, {d[2]}));
  }
  m.output(m.add(op, operands, attributes));
}

EdgeRow poolRow(const std::string &op, const std::string &kind,
                uint32_t filled) {
  auto build = [=](CaseBuilder &m, const Dims &d) {
    Attributes attributes = with(windows(1, 2), "window", Axes{2, 2});
    if (!kind.empty())
      attributes["kind"] = kind;
    ValueId x = m.input(DType::F32, {d[0], d[1], d[2], 3}, summed(Dim(4)));
    m.output(m.add(op, {x}, attributes));
  };
  return {op, DType::F32, 3, build, filled};
}

std::vector<EdgeRow> contractingRows() {
  constexpr DType f32 = DType::F32, i8 = DType::I8;
  return {{"matmul", f32, 4,
           [](CaseBuilder &m, const Dims &d) {
             m.output(product(m, d, false, f32));
           }},
          {"matmul", f32, 4,
           [](CaseBuilder &m, const Dims &d) {
             m.output(product(m, d, true, f32));
           }},
          {"matmul", i8, 4,
           [](CaseBuilder &m, const Dims &d) {
             m.output(product(m, d, false, i8));
           }},
          {"matmul_integer", i8, 3,
           [](CaseBuilder &m, const Dims &d) {
             ValueId a = m.input(i8, {d[0], d[2]}),
                     b = m.input(i8, {d[2], d[1]});
             m.output(m.add("matmul_integer",
                            {a, b, m.input(i8, {d[0]}), m.input(i8, {})}));
           }},
          {"conv", f32, 4,
           [](CaseBuilder &m, const Dims &d) { addConv(m, d, "conv", f32); }},
          {"conv_integer", i8, 4,
           [](CaseBuilder &m, const Dims &d) {
             addConv(m, d, "conv_integer", i8);
           }},
          {"conv_transpose", f32, 4,
           [](CaseBuilder &m, const Dims &d) {
             addConv(m, d, "conv_transpose", f32);
           },
           8},
          poolRow("pool", "max", 0),
          poolRow("pool", "sum", 0),
          poolRow("avg_pool", "", 4)};
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
