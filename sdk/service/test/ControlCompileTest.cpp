// SPDX-License-Identifier: Apache-2.0
//
// Graphs with regions, compiled for both devices and run.
#include "Compiling.h"
#include "backplane/compiler.h"

#include <cstring>
#include <gtest/gtest.h>
#include <numeric>

using namespace backplane;
using namespace backplane::test;

namespace {

TensorType f32(Dims dims) { return {DType::F32, std::move(dims)}; }

/// Builds a graph, failing the test when an op is refused.
struct ControlBuilder {
  Graph graph;

  ValueId add(std::string_view op, std::vector<ValueId> operands,
              Attributes attributes = {}) {
    auto results = graph.add(op, std::move(operands), std::move(attributes),
                             std::string(op) + " node");
    EXPECT_TRUE(results.ok()) << results.message();
    return results.ok() ? results->at(0) : 0;
  }
  ValueId number(double value, Dims dims) {
    Bytes bytes(4);
    float narrow = float(value);
    std::memcpy(bytes.data(), &narrow, 4);
    return add("constant", {},
               {{"value", bytes},
                {"dtype", int64_t(DType::F32)},
                {"dims", std::move(dims)}});
  }
  std::vector<ValueId> control(Op op) {
    op.location = op.name + " node '/" + op.name + "'";
    auto results = graph.addControl(std::move(op));
    EXPECT_TRUE(results.ok()) << results.message();
    return results.ok() ? *results : std::vector<ValueId>(9);
  }
};

/// x -> op(x) * factor
Graph scaled(std::string_view op, double factor, const Dims &dims) {
  ControlBuilder m;
  (void)m.graph.addSymbol({"n", 1, 64, 1});
  ValueId x = m.graph.addInput("x", f32(dims));
  m.graph.addOutput(m.add("mul", {m.add(op, {x}), m.number(factor, dims)}),
                    "y");
  m.graph.symbols.clear();
  return m.graph;
}

/// s = sum(x); y = s > 0 ? relu(x) * 2 : neg(x) * 3, and y + s
Graph choice() {
  ControlBuilder m;
  (void)m.graph.addSymbol({"n", 1, 64, 1});
  Dims dims{Dim::symbol("n")};
  ValueId x = m.graph.addInput("x", f32(dims));
  ValueId sum = m.add("reduce", {x},
                      {{"kind", std::string("sum")},
                       {"axes", std::vector<int64_t>{0}},
                       {"keep", int64_t(0)}});
  ValueId positive = m.add("compare", {sum, m.number(0, {})},
                           {{"direction", std::string("gt")}});
  Op op{"if", 1, {positive, x}, {}, {{"condition", Dims()}}, {}, ""};
  op.regions = {scaled("relu", 2, dims), scaled("neg", 3, dims)};
  ValueId y = m.control(op)[0];
  ValueId wide = m.add("broadcast", {sum},
                       {{"dims", dims}, {"axes", std::vector<int64_t>()}});
  m.graph.addOutput(y, "y");
  m.graph.addOutput(m.add("add", {y, wide}), "z");
  return m.graph;
}

/// Running sums of the rows of x: f32[n, 3], and their last; the number of the
/// row is added to each.
Graph sums() {
  Dim n = Dim::symbol("n"), i = Dim::symbol("i");
  ControlBuilder body;
  (void)body.graph.addSymbol({"n", 1, 64, 1});
  (void)body.graph.addSymbol({"i"});
  ValueId before = body.graph.addInput("before", f32({3}));
  ValueId rows = body.graph.addInput("rows", f32({n, 3}));
  ValueId row = body.add("slice", {rows},
                         {{"starts", Dims{i, 0}},
                          {"sizes", Dims{1, 3}},
                          {"strides", std::vector<int64_t>{1, 1}}});
  row = body.add("reshape", {row}, {{"dims", Dims{3}}});
  ValueId index = body.add("cast", {body.add("dim", {}, {{"value", Dims{i}}})},
                           {{"dtype", int64_t(DType::F32)}});
  index = body.add("broadcast", {index},
                   {{"dims", Dims{3}}, {"axes", std::vector<int64_t>{0}}});
  ValueId after = body.add("add", {body.add("add", {before, row}), index});
  body.graph.addOutput(after, "after");
  body.graph.addOutput(after, "each");
  body.graph.symbols = {{"i"}};
  ControlBuilder m;
  (void)m.graph.addSymbol({"n", 1, 64, 1});
  ValueId x = m.graph.addInput("x", f32({n, 3}));
  Op op{"while",
        1,
        {m.number(100, {3}), x},
        {},
        {{"carried", int64_t(1)},
         {"conditional", int64_t(0)},
         {"iteration", std::string("i")},
         {"limit", Dims{n}}},
        {body.graph},
        ""};
  auto results = m.control(op);
  m.graph.addOutput(results[0], "last");
  m.graph.addOutput(results[1], "all");
  return m.graph;
}

/// Doubles x until it is at least 1000.
Graph growth() {
  auto below = [](ControlBuilder &m, ValueId x) {
    return m.add("compare", {x, m.number(1000, {})},
                 {{"direction", std::string("lt")}});
  };
  ControlBuilder body;
  ValueId x = body.graph.addInput("x", f32({}));
  ValueId twice = body.add("add", {x, x});
  body.graph.addOutput(below(body, twice), "going");
  body.graph.addOutput(twice, "twice");
  ControlBuilder m;
  ValueId start = m.graph.addInput("x", f32({1}));
  ValueId scalar = m.add("reshape", {start}, {{"dims", Dims()}});
  Op op{"while",
        1,
        {below(m, scalar), scalar},
        {},
        {{"carried", int64_t(1)},
         {"conditional", int64_t(1)},
         {"iteration", std::string()},
         {"limit", Dims()}},
        {body.graph},
        ""};
  ValueId y = m.control(op)[0];
  m.graph.addOutput(m.add("reshape", {y}, {{"dims", Dims{1}}}), "y");
  return m.graph;
}

/// The branch of a condition that is a constant of the graph.
Graph decided(bool taken) {
  ControlBuilder m;
  ValueId x = m.graph.addInput("x", f32({4}));
  ValueId p = m.add("constant", {},
                    {{"value", Bytes{uint8_t(taken)}},
                     {"dtype", int64_t(DType::Bool)},
                     {"dims", Dims()}});
  Op op{"if", 1, {p, x}, {}, {{"condition", Dims()}}, {}, ""};
  op.regions = {scaled("relu", 2, {4}), scaled("neg", 3, {4})};
  m.graph.addOutput(m.control(op)[0], "y");
  return m.graph;
}

/// A state that grows by the sum of x where that is positive; y is the new one.
Graph stateful() {
  ControlBuilder m;
  m.graph.variables.push_back({"state", f32({4}), ""});
  ValueId x = m.graph.addInput("x", f32({4}));
  ValueId sum = m.add("reduce", {x},
                      {{"kind", std::string("sum")},
                       {"axes", std::vector<int64_t>{0}},
                       {"keep", int64_t(0)}});
  ValueId p = m.add("compare", {sum, m.number(0, {})},
                    {{"direction", std::string("gt")}});
  ValueId old = m.add("variable_read", {},
                      {{"variable", std::string("state")},
                       {"dtype", int64_t(DType::F32)},
                       {"dims", Dims{4}}});
  ControlBuilder grown, same;
  ValueId a = grown.graph.addInput("state", f32({4}));
  ValueId b = grown.graph.addInput("x", f32({4}));
  grown.graph.addOutput(grown.add("add", {a, b}), "y");
  same.graph.addOutput(same.graph.addInput("state", f32({4})), "y");
  same.graph.addInput("x", f32({4}));
  Op op{"if", 1, {p, old, x}, {}, {{"condition", Dims()}}, {}, ""};
  op.regions = {grown.graph, same.graph};
  ValueId fresh = m.control(op)[0];
  auto written = m.graph.add("variable_write", {fresh},
                             {{"variable", std::string("state")}});
  EXPECT_TRUE(written.ok()) << written.message();
  m.graph.addOutput(fresh, "y");
  return m.graph;
}

/// 1 / x for integers in a region, always.
Graph dividing() {
  TensorType type{DType::I32, {4}};
  ControlBuilder body;
  (void)body.graph.addSymbol({"i"});
  ValueId inner = body.graph.addInput("x", type);
  body.graph.addOutput(body.add("div", {inner, inner}), "y");
  ControlBuilder m;
  ValueId x = m.graph.addInput("x", f32({4}));
  ValueId integers = m.add("cast", {x}, {{"dtype", int64_t(DType::I32)}});
  Op op{"while",
        1,
        {integers},
        {},
        {{"carried", int64_t(1)},
         {"conditional", int64_t(0)},
         {"iteration", std::string("i")},
         {"limit", Dims{3}}},
        {body.graph},
        ""};
  ValueId y = m.control(op)[0];
  m.graph.addOutput(m.add("cast", {y}, {{"dtype", int64_t(DType::F32)}}), "y");
  return m.graph;
}

class Regions : public testing::TestWithParam<const char *> {
protected:
  void open(const Graph &graph) {
    auto context = compilerContext();
    ASSERT_TRUE(context.ok()) << context.message();
    context_ = std::move(*context);
    auto artifact = compileGraph(context_, writeGraph(graph), GetParam());
    ASSERT_TRUE(artifact.ok()) << artifact.message();
    artifact_ = std::move(*artifact);
    bp_session_options_t session = {BP_HEADER(bp_session_options_t)};
    session.device = toC(GetParam());
    auto made = createSession(artifact_, session);
    ASSERT_TRUE(made.ok()) << made.message();
    session_ = std::move(*made);
  }
  void run(Floats x, std::vector<Floats *> outputs) {
    std::vector<bp_tensor_t> tensors;
    for (Floats *output : outputs)
      tensors.push_back(output->c());
    Status status = runSession(session_, {x.c()}, tensors);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  Context context_;
  Artifact artifact_;
  Session session_;
};

TEST_P(Regions, RunsTheBranchThatDataChoose) {
  open(choice());
  for (float value : {2.f, -2.f}) {
    Floats x({6}, value), y({6}, -1), z({6}, -1);
    run(x, {&y, &z});
    EXPECT_EQ(y.values, std::vector<float>(6, value > 0 ? 4 : 6));
    EXPECT_EQ(z.values, std::vector<float>(6, value > 0 ? 16 : -6));
  }
}

TEST_P(Regions, CarriesAndStacks) {
  open(sums());
  for (int64_t n : {1, 5, 2, 5}) {
    Floats x({n, 3}), last({3}, -1), all({n, 3}, -1);
    std::iota(x.values.begin(), x.values.end(), 0.f);
    run(x, {&last, &all});
    float sums[3] = {100, 100, 100};
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < 3; ++j) {
        sums[j] += float(i * 3 + j + i);
        EXPECT_EQ(all.values[size_t(i * 3 + j)], sums[j]);
      }
    for (size_t j = 0; j < 3; ++j)
      EXPECT_EQ(last.values[j], sums[j]);
  }
}

TEST_P(Regions, GoesOnWhileDataSay) {
  open(growth());
  for (auto [start, end] : {std::pair(3.f, 1536.f),
                            {1000.f, 1000.f},
                            {999.f, 1998.f},
                            {1.f, 1024.f}}) {
    Floats y({1}, -1);
    run(Floats({1}, start), {&y});
    EXPECT_EQ(y.values[0], end);
  }
}

TEST_P(Regions, ConstantConditionsAreDecidedWhenCompiling) {
  for (bool taken : {true, false}) {
    open(decided(taken));
    EXPECT_EQ(bp_session_dispatch_count(session_.get()), 1u);
    Floats y({4}, -1);
    run(Floats({4}, 5), {&y});
    EXPECT_EQ(y.values, std::vector<float>(4, taken ? 10 : -15));
  }
}

TEST_P(Regions, KeepsVariables) {
  open(stateful());
  float expected = 0;
  for (float value : {1.f, -5.f, 2.f, 3.f}) {
    expected += std::max(value, 0.f);
    Floats y({4}, -1);
    run(Floats({4}, value), {&y});
    EXPECT_EQ(y.values, std::vector<float>(4, expected));
  }
  ASSERT_EQ(bp_session_reset(session_.get(), nullptr), BP_STATUS_OK);
  Floats y({4}, -1);
  run(Floats({4}, 7), {&y});
  EXPECT_EQ(y.values, std::vector<float>(4, 7));
}

TEST_P(Regions, NamesTheOpThatFails) {
  open(dividing());
  Floats y({4}, -1);
  run(Floats({4}, 2), {&y});
  EXPECT_EQ(y.values, std::vector<float>(4, 1));
  Status status = runSession(session_, {Floats({4}, 0).c()}, {y.c()});
  EXPECT_EQ(status.code(), BP_STATUS_OUT_OF_RANGE) << status.message();
  EXPECT_EQ(status.message().find("while node '/while': iteration 0: div node"),
            0u)
      << status.message();
  run(Floats({4}, 3), {&y});
  EXPECT_EQ(y.values, std::vector<float>(4, 1));
}

INSTANTIATE_TEST_SUITE_P(Devices, Regions, testing::Values("host", "ref"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
