// SPDX-License-Identifier: Apache-2.0
//
// EdgeMovement.cpp: rows of ops that make and move elements; see EdgeRows.h.
#include "CaseBuilder.h"
#include "EdgeRows.h"

namespace backplane::conformance {

namespace {

using Axes = std::vector<int64_t>;

int64_t code(DType dtype) { return static_cast<int64_t>(dtype); }

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

void addPads(CaseBuilder &m, const Dims &d, const std::string &mode) {
  ValueId x = m.input(DType::F32, d), value = m.input(DType::F32, {});
  m.output(m.add("pad", {x, value},
                 {{"low", Dims{1, 0}},
                  {"high", Dims{0, mode == "reflect" ? 0 : 2}},
                  {"mode", mode}}));
}

} // namespace

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

} // namespace backplane::conformance
