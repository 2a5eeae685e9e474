// SPDX-License-Identifier: Apache-2.0
#include "TestGraphs.h"

namespace backplane::test {

Graph smallGraph() {
  Builder b;
  b.graph.name = "small";
  EXPECT_TRUE(b.graph.addSymbol({"n", 1, 64, 1}).ok());
  EXPECT_TRUE(b.graph.addSymbol({"h", 32, INT64_MAX, 32}).ok());
  b.graph.variables.push_back({"state", T("f32[4]"), ""});
  ValueId x = b.graph.addInput("image", T("f32[n, 3, h, 32]"));
  Attributes window = {{"strides", L({2, 2})},
                       {"dilations", L({1, 1})},
                       {"low", L({1, 1})},
                       {"high", L({1, 1})}};
  ValueId y = b.add("conv", {x, b.weight("f32[8, 3, 3, 3]")}, window);
  y = b.add("batch_norm",
            {y, b.weight("f32[8]"), b.weight("f32[8]"), b.weight("f32[8]"),
             b.weight("f32[8]")},
            {{"epsilon", 1e-3}});
  y = b.add("relu", {y});
  Attributes pool = window;
  pool["window"] = L({3, 3});
  y = b.add("avg_pool", {y}, pool);
  y = b.add("reduce", {y}, {{"kind", S("max")}, {"axes", L({2, 3})}});
  y = b.add("softmax", {y}, {{"axis", I(1)}});
  ValueId state = b.add(
      "variable_read", {},
      {{"variable", S("state")}, {"dtype", DT(DType::F32)}, {"dims", Ds("4")}});
  b.add("variable_write", {b.add("neg", {state})}, {{"variable", S("state")}});
  ValueId flat = b.add("reshape",
                       {b.add("slice", {y},
                              {{"starts", Ds("0, 2")},
                               {"sizes", Ds("n, 4")},
                               {"strides", L({1, 1})}})},
                       {{"dims", Ds("4*n")}});
  b.graph.addOutput(y, "scores");
  b.graph.addOutput(flat, "flat");
  return std::move(b.graph);
}

namespace {

constexpr std::string_view hidden = "f32[n, s, 768]";

ValueId linear(Builder &b, ValueId x, const char *w, const char *bias) {
  ValueId y = b.add("matmul", {x, b.weight(w)});
  return b.add("add",
               {y, b.broadcast(b.weight(bias), b.graph.type(y).dims, {2})});
}

ValueId heads(Builder &b, ValueId x) {
  ValueId split = b.add("reshape", {x}, {{"dims", Ds("n, s, 12, 64")}});
  return b.add("transpose", {split}, {{"permutation", L({0, 2, 1, 3})}});
}

ValueId norm(Builder &b, ValueId x) {
  return b.add("layer_norm", {x, b.weight("f32[768]"), b.weight("f32[768]")},
               {{"axis", I(2)}, {"epsilon", 1e-12}});
}

ValueId attention(Builder &b, ValueId x, ValueId mask) {
  auto project = [&](ValueId from) {
    return linear(b, from, "f32[768, 768]", "f32[768]");
  };
  ValueId q = heads(b, project(x)), k = heads(b, project(x)),
          v = heads(b, project(x));
  ValueId scores = b.add("matmul", {q, k}, {{"transpose_b", I(1)}});
  Dims dims = b.graph.type(scores).dims;
  ValueId scale = b.add("constant", {},
                        {{"value", encodeElement(DType::F32, 0.125)},
                         {"dtype", DT(DType::F32)},
                         {"dims", dims}});
  scores = b.add("mul", {scores, scale});
  scores = b.add("add", {scores, b.broadcast(mask, dims, {0, 3})});
  ValueId mixed =
      b.add("matmul", {b.add("softmax", {scores}, {{"axis", I(3)}}), v});
  mixed = b.add("transpose", {mixed}, {{"permutation", L({0, 2, 1, 3})}});
  return project(b.add("reshape", {mixed}, {{"dims", T(hidden).dims}}));
}

} // namespace

Graph bertGraph(int layers) {
  Builder b;
  b.graph.name = "bert";
  EXPECT_TRUE(b.graph.addSymbol({"n", 1, INT64_MAX, 1}).ok());
  EXPECT_TRUE(b.graph.addSymbol({"s", 1, 512, 1}).ok());
  ValueId ids = b.graph.addInput("input_ids", T("i64[n, s]"));
  ValueId mask = b.graph.addInput("mask", T("f32[n, s]"));
  ValueId x = b.add("gather", {b.weight("f32[30522, 768]"), ids});
  x = norm(b, x);
  for (int layer = 0; layer < layers; ++layer) {
    x = norm(b, b.add("add", {x, attention(b, x, mask)}));
    ValueId wide = linear(b, x, "f32[768, 3072]", "f32[3072]");
    wide = linear(b, b.add("gelu", {wide}), "f32[3072, 768]", "f32[768]");
    x = norm(b, b.add("add", {x, wide}));
  }
  b.graph.addOutput(x, "last_hidden_state");
  return std::move(b.graph);
}

} // namespace backplane::test
