// SPDX-License-Identifier: Apache-2.0
//
// What decompositions consist of.
#include "Decomposed.h"
#include "sdk/graph/Rounding.h"

#include <set>

using namespace backplane;
using namespace backplane::test;

namespace {

TEST(Decompose, LeavesPrimitivesOfTheSameType) {
  std::set<std::string_view> done;
  for (const OpCase &c : goodCases())
    if (findOp(c.op)->composite) {
      Graph graph = decomposed(single(c));
      EXPECT_FALSE(graph.ops.empty());
      for (const Op &op : graph.ops)
        EXPECT_EQ(op.location, "node 0 (" + c.op + ")");
      done.insert(findOp(c.op)->name);
    }
  for (const OpSpec &spec : opTable())
    if (spec.composite)
      EXPECT_TRUE(done.contains(spec.name)) << spec.name;
}

/// The case with numbers for its symbols; none where the op refuses them.
std::optional<Graph> sized(const OpCase &c, int64_t size) {
  std::map<std::string, Dim, std::less<>> sizes;
  for (const char *name : {"n", "s", "h", "m"})
    sizes[name] = Dim(size);
  auto replace = [&](Dims dims) {
    for (Dim &dim : dims)
      dim = dim.substitute(sizes);
    return dims;
  };
  Graph graph;
  std::vector<ValueId> operands;
  for (const std::string &type : c.operands) {
    TensorType fixed = T(type);
    operands.push_back(graph.addInput("x", {fixed.dtype, replace(fixed.dims)}));
  }
  Attributes attributes = c.attributes;
  for (auto &[name, value] : attributes)
    if (auto *dims = std::get_if<Dims>(&value))
      *dims = replace(*dims);
  auto results = graph.add(c.op, operands, attributes, "here");
  if (!results)
    return std::nullopt;
  graph.addOutput((*results)[0], "y");
  return graph;
}

/// Names of the ops of a layout of x, in order.
std::string partsOf(const std::string &op, const std::string &x,
                    std::string_view sizes = "") {
  Attributes attributes{{"axes", L({1})}, {"tiles", L({8})}};
  if (op == "unpack")
    attributes["sizes"] = Ds(sizes);
  Graph graph = decomposed(single({op, {x}, attributes, ""}));
  std::string names;
  for (const Op &part : graph.ops)
    names += " " + part.name;
  return names;
}

TEST(Decompose, LeavesOutThePaddingOfFullTiles) {
  EXPECT_EQ(partsOf("pack", "f32[n, 16]"), " reshape transpose");
  EXPECT_EQ(partsOf("pack", "f16[n, 8*m]"), " reshape transpose");
  EXPECT_EQ(partsOf("pack", "f32[n, 17]"), " constant pad reshape transpose");
  EXPECT_EQ(partsOf("pack", "f32[n, m]"), " constant pad reshape transpose");
  EXPECT_EQ(partsOf("unpack", "i4[n, 2, 8]", "n, 16"), " transpose reshape");
  EXPECT_EQ(partsOf("unpack", "i4[n, 2, 8]", "n, 15"),
            " transpose reshape slice");
  EXPECT_EQ(partsOf("unpack", "bf16[n, m, 8]", "n, 8*m"), " transpose reshape");
}

TEST(Decompose, GivesSizesBackThatAreTooLarge) {
  size_t refused = 0;
  for (const OpCase &c : goodCases())
    for (int shift : {16, 20, 22, 23, 30, 40, 45})
      if (auto graph = sized(c, int64_t(1) << shift)) {
        Result<Graph> result = decompose(*graph, keepNone);
        refused += !result.ok();
        if (!result.ok())
          EXPECT_TRUE(result.message().starts_with("here (" + c.op + ")"))
              << result.message();
      }
  EXPECT_GT(refused, 0u);
}

/// The types with narrow floats in place of f16 and f32.
OpCase narrowed(OpCase c, const std::string &narrow) {
  for (std::string &type : c.operands)
    if (type.starts_with("f16") || type.starts_with("f32"))
      type = narrow + type.substr(3);
  return c;
}

/// An attention rounds what it multiplies with v, too.
TEST(Decompose, RoundsNarrowFloatsOnce) {
  for (const char *narrow : {"f16", "bf16"})
    for (const OpCase &c : goodCases()) {
      if (!findOp(c.op)->composite)
        continue;
      Graph graph = decomposed(single(narrowed(c, narrow)));
      size_t roundings = 0;
      for (const Op &op : graph.ops)
        roundings += roundsToNarrow(graph, op);
      EXPECT_LE(roundings, c.op == "attention" ? 2u : 1u) << c.op;
      EXPECT_FALSE(secondRounding(graph, 0, "node 0 (" + c.op + ")")) << c.op;
    }
}

TEST(Decompose, WorksOnWholeGraphs) {
  for (const Graph &graph : {smallGraph(), bertGraph(1)}) {
    Graph result = decomposed(graph);
    EXPECT_EQ(result.symbols, graph.symbols);
    EXPECT_EQ(result.variables, graph.variables);
    EXPECT_EQ(result.outputs.size(), graph.outputs.size());
    EXPECT_EQ(result.outputs[0].name, graph.outputs[0].name);
  }
}

TEST(Decompose, KeepsWhatItIsTold) {
  Graph graph = smallGraph();
  auto all = decompose(graph, [](const Op &) { return true; });
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->ops.size(), graph.ops.size());
  for (size_t i = 0; i < graph.ops.size(); ++i)
    EXPECT_EQ(all->ops[i].name, graph.ops[i].name);
  auto one = decompose(graph, [](const Op &op) { return op.name == "relu"; });
  ASSERT_TRUE(one.ok());
  ASSERT_TRUE(one->verify().ok());
  size_t composites = 0;
  for (const Op &op : one->ops)
    composites += findOp(op.name)->composite;
  EXPECT_EQ(composites, 1u);
}

} // namespace
