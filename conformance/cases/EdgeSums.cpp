// SPDX-License-Identifier: Apache-2.0
//
// EdgeSums.cpp: rows of ops that combine many elements into one: reductions,
// products and windows; see EdgeRows.h.
#include "CaseBuilder.h"
#include "EdgeRows.h"

namespace backplane::conformance {

namespace {

using Axes = std::vector<int64_t>;

Attributes reduction(const char *kind, int64_t axis) {
  return {{"kind", std::string(kind)}, {"axes", Axes{axis}}};
}

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

} // namespace

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

} // namespace backplane::conformance
