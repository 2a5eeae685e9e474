// SPDX-License-Identifier: Apache-2.0
#include "TestGraphs.h"
#include "sdk/graph/Satisfiable.h"

#include <functional>

using namespace backplane;
using namespace backplane::test;

namespace {

TEST(Graph, VerifiesWhatItBuilds) {
  for (const Graph &graph : {smallGraph(), bertGraph(2)}) {
    Status status = graph.verify();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  EXPECT_TRUE(Graph().verify().ok());
}

TEST(Graph, AddFailsWithoutAddingAnything) {
  Graph graph = smallGraph();
  Graph before = graph;
  EXPECT_EQ(graph.add("no_such_op", {}).code(), BP_STATUS_NOT_FOUND);
  EXPECT_FALSE(graph.add("neg", {100000}).ok());
  EXPECT_FALSE(graph.add("neg", {}).ok());
  auto failed = graph.add("add", {0, 1}, {}, "Add node /x");
  EXPECT_EQ(failed.message().substr(0, 13), "Add node /x: ");
  EXPECT_FALSE(graph
                   .add("variable_read", {},
                        {{"variable", S("none")},
                         {"dtype", DT(DType::F32)},
                         {"dims", Ds("4")}})
                   .ok());
  EXPECT_FALSE(graph
                   .add("variable_read", {},
                        {{"variable", S("state")},
                         {"dtype", DT(DType::F32)},
                         {"dims", Ds("5")}})
                   .ok());
  EXPECT_EQ(graph, before);
}

TEST(Graph, ReadsAttributes) {
  Op op;
  op.attributes = {{"i", I(3)},      {"f", 2.5},        {"s", S("x")},
                   {"l", L({1, 2})}, {"d", Ds("n, 4")}, {"b", Bytes{7}}};
  EXPECT_EQ(op.i64("i"), 3);
  EXPECT_EQ(op.i64("f", -1), -1);
  EXPECT_EQ(op.i64("none", -1), -1);
  EXPECT_EQ(op.f64("f"), 2.5);
  EXPECT_EQ(op.string("s"), "x");
  EXPECT_EQ(op.string("none", "y"), "y");
  EXPECT_EQ(op.i64s("l"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(op.dims("d"), (Dims{D("n"), Dim(4)}));
  ASSERT_NE(op.bytes("b"), nullptr);
  EXPECT_EQ(op.bytes("s"), nullptr);
}

TEST(Graph, ChecksSymbols) {
  Graph graph;
  EXPECT_TRUE(graph.addSymbol({"n", 1, 8, 1}).ok());
  EXPECT_TRUE(graph.addSymbol({"n", 1, 8, 1}).ok());
  EXPECT_FALSE(graph.addSymbol({"n", 1, 9, 1}).ok());
  EXPECT_FALSE(graph.addSymbol({"2n", 1, 9, 1}).ok());
  EXPECT_FALSE(graph.addSymbol({"m", 5, 4, 1}).ok());
  EXPECT_FALSE(graph.addSymbol({"m", -1, 4, 1}).ok());
  EXPECT_FALSE(graph.addSymbol({"m", 1, 4, 0}).ok());
  EXPECT_EQ(graph.symbols.size(), 1u);
}

TEST(Graph, AssertsWhatAlgebraDoesNotShow) {
  Builder b;
  for (const char *name : {"n", "m"})
    ASSERT_TRUE(b.graph.addSymbol({name}).ok());
  ValueId x = b.graph.addInput("x", T("f32[n, 4]"));
  b.add("reshape", {x}, {{"dims", Ds("4*n")}});
  EXPECT_TRUE(b.graph.assertions.empty());
  b.add("reshape", {x}, {{"dims", Ds("m, 2")}});
  b.add("reshape", {x}, {{"dims", Ds("m, 2")}});
  ASSERT_EQ(b.graph.assertions.size(), 1u);
  EXPECT_EQ(b.graph.assertions[0].lhs, D("4*n"));
  EXPECT_EQ(b.graph.assertions[0].rhs, D("2*m"));
  EXPECT_EQ(b.graph.assertions[0].message,
            "node 1: reshape: element counts are equal");
  b.add("slice", {x},
        {{"starts", Ds("n - 1, 0")},
         {"sizes", Ds("1, 4")},
         {"strides", L({1, 1})}});
  ASSERT_EQ(b.graph.assertions.size(), 2u);
  EXPECT_EQ(b.graph.assertions[1].lhs, D("min(n - 1, 0)"));
  EXPECT_EQ(b.graph.assertions[1].rhs, Dim(0));
  b.add(
      "slice", {x},
      {{"starts", Ds("0, 0")}, {"sizes", Ds("m, 4")}, {"strides", L({1, 1})}});
  ASSERT_EQ(b.graph.assertions.size(), 3u);
  EXPECT_EQ(b.graph.assertions[2].lhs, D("min(n - m, 0)"));
  EXPECT_TRUE(b.graph.verify().ok());
}

TEST(Graph, KnowsTheRangesOfSymbols) {
  Builder b;
  ASSERT_TRUE(b.graph.addSymbol({"n", 4}).ok());
  ValueId x = b.graph.addInput("x", T("f32[n]"));
  auto last = [&](std::string_view start) {
    return b.add(
        "slice", {x},
        {{"starts", Ds(start)}, {"sizes", Ds("1")}, {"strides", L({1})}});
  };
  last("n - 4");
  EXPECT_TRUE(b.graph.assertions.empty());
  last("n - 5");
  EXPECT_EQ(b.graph.assertions.size(), 1u);
}

/// What checkSatisfiable says of one equality over symbols a and b.
std::string refusal(std::string_view lhs, std::string_view rhs,
                    Symbol a = {.name = "a"}) {
  Graph graph;
  EXPECT_TRUE(graph.addSymbol(a).ok());
  EXPECT_TRUE(graph.addSymbol({.name = "b"}).ok());
  graph.assertions.push_back({*Dim::parse(lhs), *Dim::parse(rhs), "Add 'y'"});
  return std::string(checkSatisfiable(graph).message());
}

TEST(Graph, RefusesWhatNoSizesFit) {
  EXPECT_EQ(refusal("a", "224"), "");
  EXPECT_EQ(refusal("a", "b + 7"), "");
  EXPECT_EQ(refusal("a floordiv 3", "77"), "");
  EXPECT_EQ(refusal("4*(a floordiv 4)", "a"), "");
  EXPECT_EQ(refusal("a", "min(1, a)"), "");
  EXPECT_EQ(refusal("a", "min(1, a)", {"a", 2, 64}),
            "Add 'y': no sizes that the model allows make a equal min(1, a)");
  EXPECT_NE(refusal("a + 3", "2"), "");
  EXPECT_NE(refusal("a + b + 1", "b"), "");
  EXPECT_NE(refusal("a", "7", {"a", 0, 64, 2}), "");
}

TEST(Graph, RefusesWhatNoSizesFitTogether) {
  Graph graph;
  ASSERT_TRUE(graph.addSymbol({.name = "a"}).ok());
  graph.assertions = {{Dim::symbol("a"), 3, "first"},
                      {Dim::symbol("a"), 4, "second"}};
  EXPECT_NE(checkSatisfiable(graph).message().find("and fit all other ops"),
            std::string::npos);
}

TEST(Graph, SizesThatOutgrowTheirTextNameTheOp) {
  Graph graph;
  Dim large(1);
  std::vector<ValueId> parts;
  for (int i = 0; i < 60; ++i) {
    std::string name = "symbol_of_a_long_name_" + std::to_string(i);
    ASSERT_TRUE(graph.addSymbol({.name = name}).ok());
    parts.push_back(graph.addInput(name, {DType::F32, {Dim::symbol(name), 4}}));
  }
  auto all = graph.add("concat", parts, {{"axis", int64_t(0)}}, "Concat 'c'");
  ASSERT_TRUE(all.ok()) << all.message();
  Dims dims = graph.type(all->front()).dims;
  auto wide = graph.add("broadcast", *all,
                        {{"dims", Dims{dims[0], dims[0], 4}},
                         {"axes", std::vector<int64_t>{1, 2}}},
                        "Expand 'e'");
  EXPECT_EQ(wide.message(), "Expand 'e': broadcast: the size of its result is "
                            "too large to express");
}

TEST(Graph, PrintsOneOpALine) {
  Builder b;
  b.graph.name = "g";
  ASSERT_TRUE(b.graph.addSymbol({"n", 1, 8, 2}).ok());
  ValueId x = b.graph.addInput("x", T("f32[n, 4]"));
  b.graph.addOutput(b.add("softmax", {x}, {{"axis", I(1)}}), "y");
  EXPECT_EQ(b.graph.str(), "graph \"g\" {\n"
                           "  symbol n in [1, 8] divisor 2\n"
                           "  input %0 : f32[n, 4]\n"
                           "  %1 = softmax(%0) {axis = 1} : f32[n, 4]  // node "
                           "0\n"
                           "  output %1 \"y\"\n"
                           "}\n");
}

struct Damage {
  const char *message; ///< a part of it
  std::function<void(Graph &)> apply;
};

TEST(Graph, VerifyFindsDamage) {
  const Damage damages[] = {
      {"there is no value %9999",
       [](Graph &g) { g.ops[1].operands[0] = 9999; }},
      {"is used before it is defined",
       [](Graph &g) { std::swap(g.ops[0], g.ops[1]); }},
      {"is defined twice", [](Graph &g) { g.inputs.push_back(g.inputs[0]); }},
      {"is defined twice",
       [](Graph &g) { g.ops[1].results[0] = g.ops[0].results[0]; }},
      {"nothing defines value", [](Graph &g) { g.addValue({DType::F32, {}}); }},
      {"there is no value", [](Graph &g) { g.outputs[0].value = 777; }},
      {"no op has the name", [](Graph &g) { g.ops[1].name = "konv"; }},
      {"has version 9", [](Graph &g) { g.ops[1].version = 9; }},
      {"has version 0", [](Graph &g) { g.ops[1].version = 0; }},
      {"attribute strides is missing",
       [](Graph &g) { g.ops[1].attributes.erase("strides"); }},
      {"has no attribute extra",
       [](Graph &g) { g.ops[1].attributes["extra"] = I(1); }},
      {"takes no regions", [](Graph &g) { g.ops[1].regions.emplace_back(); }},
      {"has 1 results, found 0", [](Graph &g) { g.ops[1].results.clear(); }},
      {"but value",
       [](Graph &g) { g.values[g.ops[1].results[0]].type.dims[0] = 3; }},
      {"has no dtype", [](Graph &g) { g.values[0].type.dtype = DType(0); }},
      {"has no dtype",
       [](Graph &g) { g.values[0].type.dtype = DType(BP_DTYPE_COUNT_); }},
      {"limit is 16", [](Graph &g) { g.values[0].type.dims.resize(17); }},
      {"negative size", [](Graph &g) { g.values[0].type.dims[0] = -2; }},
      {"symbol k", [](Graph &g) { g.values[0].type.dims[0] = D("k"); }},
      {"too complex",
       [](Graph &g) { g.values[0].type.dims[0] = Dim(INT64_MAX) * Dim(2); }},
      {"is declared twice",
       [](Graph &g) { g.symbols.push_back(g.symbols[0]); }},
      {"is no name", [](Graph &g) { g.symbols[0].name = "a b"; }},
      {"assertion", [](Graph &g) { g.assertions.push_back({D("k"), 1, ""}); }},
      {"is declared twice",
       [](Graph &g) { g.variables.push_back(g.variables[0]); }},
      {"needs plain sizes",
       [](Graph &g) { g.variables[0].type.dims[0] = D("n"); }},
      {"which is no weight id",
       [](Graph &g) { g.variables[0].initial = "abc"; }},
      {"has no variable", [](Graph &g) { g.variables.clear(); }},
      {"variable state is",
       [](Graph &g) { g.variables[0].type.dtype = DType::F16; }},
  };
  for (const Damage &damage : damages) {
    Graph graph = smallGraph();
    damage.apply(graph);
    Status status = graph.verify();
    ASSERT_FALSE(status.ok()) << damage.message;
    EXPECT_NE(status.message().find(damage.message), std::string::npos)
        << status.message();
  }
}

/// y = 0, 1, … up to a number that x says, at most n.
Graph readingGraph() {
  Builder b;
  EXPECT_TRUE(b.graph.addSymbol({"n"}).ok());
  EXPECT_TRUE(b.graph.addSymbol({"k"}).ok());
  b.graph.addInput("w", T("f32[n]"));
  ValueId x = b.graph.addInput("x", T("i64[]"));
  b.add("read", {x}, {{"symbol", S("k")}, {"bound", Ds("n")}});
  ValueId y = b.add("iota", {}, {{"dtype", DT(DType::I64)}, {"dims", Ds("k")}});
  b.graph.addOutput(y, "y");
  return b.graph;
}

TEST(Graph, ReadsDefineSymbols) {
  EXPECT_TRUE(readingGraph().verify().ok())
      << readingGraph().verify().message();
  const Damage damages[] = {
      {"symbol k is used before the op that reads it",
       [](Graph &g) { std::swap(g.ops[0], g.ops[1]); }},
      {"symbol k is used before the op that reads it",
       [](Graph &g) { g.values[0].type.dims[0] = D("k"); }},
      {"symbol k is used before the op that reads it",
       [](Graph &g) { g.ops[0].attributes["bound"] = Ds("k"); }},
      {"symbol k is read twice",
       [](Graph &g) {
         Op again = g.ops[0];
         again.results = {g.addValue(T("i64[]"))};
         g.ops.push_back(again);
       }},
      {"symbol j is not declared",
       [](Graph &g) { g.ops[0].attributes["symbol"] = S("j"); }},
  };
  for (const Damage &damage : damages) {
    Graph graph = readingGraph();
    damage.apply(graph);
    Status status = graph.verify();
    ASSERT_FALSE(status.ok()) << damage.message;
    EXPECT_NE(status.message().find(damage.message), std::string::npos)
        << status.message();
  }
}

TEST(Types, KnowsTheirNamesAndSizes) {
  for (uint32_t i = BP_DTYPE_F64; i < BP_DTYPE_COUNT_; ++i) {
    DType type = DType(i);
    EXPECT_EQ(parseDType(name(type)), type);
    EXPECT_EQ(isFloat(type) + isSignedInteger(type) + isUnsignedInteger(type),
              type == DType::Bool ? 0 : 1);
  }
  EXPECT_EQ(name(DType(0)), "invalid");
  EXPECT_EQ(name(DType(99)), "invalid");
  EXPECT_EQ(parseDType("invalid"), std::nullopt);
  EXPECT_EQ(bitWidth(DType::I4), 4u);
  EXPECT_EQ(bitWidth(DType::Bool), 8u);
  EXPECT_EQ(T("f32[n, 64]").bytes(), D("256*n"));
  EXPECT_EQ(T("u4[3]").bytes(), Dim(2));
  EXPECT_EQ(T("f64[]").bytes(), Dim(8));
  EXPECT_EQ(T("f32[n, 64]").str(), "f32[n, 64]");
}

} // namespace
