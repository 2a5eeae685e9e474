// SPDX-License-Identifier: Apache-2.0
//
// Ops with regions: types, constraints, the wire form, decomposition.
#include "TestGraphs.h"

#include "sdk/graph/Control.h"
#include "sdk/graph/Decompose.h"
#include "sdk/graph/Wire.h"

namespace backplane::test {
namespace {

/// A region that gives a unary op of its one input.
Graph unary(std::string_view op, const TensorType &type) {
  Builder b;
  b.graph.addOutput(b.add(op, {b.graph.addInput("x", type)}), "y");
  return b.graph;
}

/// y = p ? relu(x) : neg(x)
Graph ifGraph() {
  Graph graph;
  graph.name = "choice";
  (void)graph.addSymbol({"n", 1, 8, 1});
  ValueId p = graph.addInput("p", T("bool[]"));
  ValueId x = graph.addInput("x", T("f32[n, 4]"));
  Op op{"if", 1, {p, x}, {}, {{"condition", Dims()}}, {}, "If node 'a'"};
  op.regions = {unary("relu", T("f32[n, 4]")), unary("neg", T("f32[n, 4]"))};
  auto results = graph.addControl(op);
  EXPECT_TRUE(results.ok()) << results.message();
  if (results)
    graph.addOutput(results->at(0), "y");
  return graph;
}

/// Adds row i of x to a sum, n times, and stacks the sums.
Graph whileGraph() {
  Graph graph;
  graph.name = "sums";
  (void)graph.addSymbol({"n", 1, 8, 1});
  ValueId sum = graph.addInput("sum", T("f32[4]"));
  ValueId x = graph.addInput("x", T("f32[n, 4]"));
  Builder body;
  (void)body.graph.addSymbol({"n", 1, 8, 1});
  (void)body.graph.addSymbol({"i"});
  ValueId before = body.graph.addInput("before", T("f32[4]"));
  ValueId rows = body.graph.addInput("rows", T("f32[n, 4]"));
  ValueId row = body.add(
      "slice", {rows},
      {{"starts", Ds("i, 0")}, {"sizes", Ds("1, 4")}, {"strides", L({1, 1})}});
  ValueId flat = body.add("reshape", {row}, {{"dims", Ds("4")}});
  ValueId after = body.add("add", {before, flat});
  body.graph.addOutput(after, "after");
  body.graph.addOutput(after, "each");
  body.graph.symbols = {{"i"}};
  Op op{"while",
        1,
        {sum, x},
        {},
        {{"carried", I(1)},
         {"conditional", I(0)},
         {"iteration", S("i")},
         {"limit", Ds("n")}},
        {body.graph},
        "Loop node 'b'"};
  auto results = graph.addControl(op);
  EXPECT_TRUE(results.ok()) << results.message();
  if (results) {
    graph.addOutput(results->at(0), "last");
    graph.addOutput(results->at(1), "all");
  }
  return graph;
}

TEST(Control, InfersTypes) {
  Graph choice = ifGraph(), sums = whileGraph();
  EXPECT_EQ(choice.type(choice.outputs[0].value), T("f32[n, 4]"));
  EXPECT_EQ(sums.type(sums.outputs[0].value), T("f32[4]"));
  EXPECT_EQ(sums.type(sums.outputs[1].value), T("f32[n, 4]"));
  EXPECT_EQ(choice.verify().message(), "");
  EXPECT_EQ(sums.verify().message(), "");
}

TEST(Control, TravelsOnTheWire) {
  for (const Graph &graph : {ifGraph(), whileGraph()}) {
    auto again = readGraph(writeGraph(graph));
    ASSERT_TRUE(again.ok()) << again.message();
    EXPECT_EQ(*again, graph);
    EXPECT_NE(again->str().find("    output %"), std::string::npos);
  }
}

TEST(Control, IsDecomposedInside) {
  Graph graph = ifGraph();
  auto all = decompose(graph, [](const Op &) { return false; });
  ASSERT_TRUE(all.ok()) << all.message();
  EXPECT_EQ(all->verify().message(), "");
  EXPECT_NE(all->ops[0].regions[0].ops[0].name, "relu");
  auto none = decompose(graph, [](const Op &) { return true; });
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(*none, graph);
}

struct Damage {
  const char *message; ///< a part of it
  std::function<void(Graph &)> apply;
};

void expectFound(const Graph &sound, const std::vector<Damage> &damages) {
  for (const Damage &damage : damages) {
    Graph graph = sound;
    damage.apply(graph);
    Status status = graph.verify();
    ASSERT_FALSE(status.ok()) << damage.message;
    EXPECT_NE(status.message().find(damage.message), std::string::npos)
        << status.message();
    EXPECT_FALSE(readGraph(writeGraph(graph)).ok());
  }
}

TEST(Control, VerifyFindsDamagedIfs) {
  expectFound(
      ifGraph(),
      {
          {"C1: it has two regions",
           [](Graph &g) { g.ops[0].regions.pop_back(); }},
          {"C1: a region takes the operands",
           [](Graph &g) { g.ops[0].operands.push_back(1); }},
          {"C2: the first operand", [](Graph &g) { g.ops[0].operands[0] = 1; }},
          {"C3: a region declares no symbol",
           [](Graph &g) { g.ops[0].regions[0].symbols = {{"k"}}; }},
          {"is declared twice",
           [](Graph &g) { g.ops[0].regions[0].symbols = {{"n"}}; }},
          {"C3: a region declares no variables",
           [](Graph &g) {
             g.ops[0].regions[0].variables = {{"v", T("f32[1]"), ""}};
           }},
          {"C4: both regions give the same types",
           [](Graph &g) { g.ops[0].regions[1].outputs.clear(); }},
          {"condition is missing",
           [](Graph &g) { g.ops[0].attributes.clear(); }},
          {"has more than one dim",
           [](Graph &g) { g.ops[0].attributes["condition"] = Ds("n, n"); }},
          {"symbol k of dim",
           [](Graph &g) { g.ops[0].attributes["condition"] = Ds("k"); }},
          {"has version 2", [](Graph &g) { g.ops[0].version = 2; }},
          {"there is no value",
           [](Graph &g) { g.ops[0].regions[1].ops[0].operands[0] = 99; }},
      });
}

TEST(Control, VerifyFindsDamagedWhiles) {
  expectFound(
      whileGraph(),
      {
          {"C5: it has a predicate or a limit",
           [](Graph &g) { g.ops[0].attributes["limit"] = Dims(); }},
          {"C2: the first operand",
           [](Graph &g) { g.ops[0].attributes["conditional"] = I(1); }},
          {"conditional 7",
           [](Graph &g) { g.ops[0].attributes["conditional"] = I(7); }},
          {"carried is -1",
           [](Graph &g) { g.ops[0].attributes["carried"] = I(-1); }},
          {"C1: it carries more",
           [](Graph &g) { g.ops[0].attributes["carried"] = I(3); }},
          {"C6: a carried value keeps its type",
           [](Graph &g) { g.ops[0].attributes["carried"] = I(2); }},
          {"C3: a region declares no symbol",
           [](Graph &g) { g.ops[0].attributes["iteration"] = S("j"); }},
          {"has no attribute extra",
           [](Graph &g) { g.ops[0].attributes["extra"] = I(1); }},
          {"limit has the wrong kind",
           [](Graph &g) { g.ops[0].attributes["limit"] = I(3); }},
          {"C1: it has one region", [](Graph &g) { g.ops[0].regions.clear(); }},
      });
}

TEST(Control, BoundsTheDepthOfRegions) {
  Graph graph = ifGraph();
  for (int i = 0; i < 17; ++i) {
    Graph outer = ifGraph();
    Graph inner = graph;
    outer.ops[0].regions[0] = std::move(inner);
    graph = std::move(outer);
  }
  EXPECT_FALSE(graph.verify().ok());
  EXPECT_FALSE(readGraph(writeGraph(graph)).ok());
}

TEST(Control, RefusesWhatIsNoOpWithRegions) {
  Graph graph = ifGraph();
  Graph before = graph;
  EXPECT_FALSE(graph.addControl({.name = "relu", .operands = {1}}).ok());
  EXPECT_FALSE(graph.addControl({.name = "if", .operands = {77}}).ok());
  EXPECT_EQ(graph, before);
}

} // namespace
} // namespace backplane::test
