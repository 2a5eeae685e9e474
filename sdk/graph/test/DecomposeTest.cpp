// SPDX-License-Identifier: Apache-2.0
#include "sdk/graph/Decompose.h"

#include "Evaluate.h"
#include "OpCases.h"
#include "sdk/graph/Rounding.h"

#include <cmath>
#include <set>

using namespace backplane;
using namespace backplane::test;

namespace {

bool keepNone(const Op &) { return false; }

/// A graph of one op, with an input per operand.
Graph single(const OpCase &c) {
  Builder b;
  for (const char *name : {"n", "s", "h", "m"})
    EXPECT_TRUE(b.graph.addSymbol({name, 1}).ok());
  std::vector<ValueId> operands;
  for (const std::string &type : c.operands)
    operands.push_back(b.graph.addInput("x", T(type)));
  b.graph.addOutput(b.add(c.op, operands, c.attributes), "y");
  return std::move(b.graph);
}

/// The decomposition, checked: verifies, same type, primitives only.
Graph decomposed(const Graph &graph) {
  Result<Graph> result = decompose(graph, keepNone);
  EXPECT_TRUE(result.ok()) << result.message();
  if (!result)
    return {};
  Status status = result->verify();
  EXPECT_TRUE(status.ok()) << status.message() << result->str();
  EXPECT_EQ(result->inputs.size(), graph.inputs.size());
  for (size_t i = 0; i < graph.outputs.size(); ++i)
    EXPECT_EQ(result->type(result->outputs[i].value),
              graph.type(graph.outputs[i].value));
  for (const Op &op : result->ops)
    EXPECT_FALSE(findOp(op.name)->composite) << op.name;
  return std::move(*result);
}

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

TEST(Rounding, SeesTwoOnTheWay) {
  Builder b;
  ValueId x = b.graph.addInput("x", T("f16[4, 4]"));
  auto second = [&](size_t first) {
    for (Op &op : b.graph.ops)
      op.location = "here";
    const Op *found = secondRounding(b.graph, first, "here");
    return found ? found->name : "";
  };
  ValueId square = b.add("mul", {x, x});
  EXPECT_EQ(second(0), "");
  ValueId wide = b.add("cast", {square}, {{"dtype", DT(DType::F32)}});
  ValueId root = b.add("sqrt", {wide});
  EXPECT_EQ(second(0), "");
  b.add("cast", {root}, {{"dtype", DT(DType::F16)}});
  EXPECT_EQ(second(0), "cast") << "f32 does not bring digits back";
  EXPECT_EQ(second(1), "") << "what was there before is an operand";
  size_t first = b.graph.ops.size();
  ValueId sums = b.add("matmul", {x, x}, {{"wide", I(1)}});
  ValueId moved = b.add("transpose", {sums}, {{"permutation", L({1, 0})}});
  ValueId bias = b.add("cast", {x}, {{"dtype", DT(DType::F32)}});
  ValueId biased = b.add("add", {moved, bias});
  b.add("cast", {biased}, {{"dtype", DT(DType::F16)}});
  EXPECT_EQ(second(first), "");
  first = b.graph.ops.size();
  b.add("add", {b.add("matmul", {x, x}), x});
  EXPECT_EQ(second(first), "add") << "a bias is added before sums are rounded";
  first = b.graph.ops.size();
  ValueId factor = b.add("exp", {x});
  ValueId ofFactors = b.add("matmul", {factor, x}, {{"wide", I(1)}});
  b.add("cast", {ofFactors}, {{"dtype", DT(DType::F16)}});
  EXPECT_EQ(second(first), "") << "a factor may be rounded";
  first = b.graph.ops.size();
  b.add("add", {b.add("max", {x, x}), b.add("neg", {x})});
  EXPECT_EQ(second(first), "");
  EXPECT_EQ(secondRounding(b.graph, 0, "elsewhere"), nullptr);
}

/// A loop over x and y; its body adds what it carries to a square in `inside`.
Graph loopOf(DType inside, std::string_view carriedType) {
  Builder body;
  ValueId sum = body.graph.addInput("sum", T(carriedType));
  ValueId x = body.graph.addInput("x", T(carriedType));
  ValueId wide = body.add("cast", {x}, {{"dtype", DT(inside)}});
  ValueId square = body.add("mul", {wide, wide});
  ValueId term =
      body.add("cast", {square}, {{"dtype", DT(T(carriedType).dtype)}});
  body.graph.addOutput(body.add("add", {sum, term}), "sum");
  for (Op &op : body.graph.ops)
    op.location = "here";
  Graph graph;
  ValueId first = graph.addInput("first", T(carriedType));
  ValueId all = graph.addInput("all", T(carriedType));
  Op op{"while",
        1,
        {first, all},
        {},
        {{"carried", I(1)},
         {"conditional", I(0)},
         {"iteration", S("")},
         {"limit", Ds("3")}},
        {body.graph},
        "here"};
  auto results = graph.addControl(op);
  EXPECT_TRUE(results.ok()) << results.message();
  return graph;
}

TEST(Rounding, SeesWhatRegionsRound) {
  auto second = [](const Graph &graph) {
    const Op *found = secondRounding(graph, 0, "here");
    return found ? found->name : "";
  };
  EXPECT_EQ(second(loopOf(DType::F32, "f32[4]")), "");
  EXPECT_EQ(second(loopOf(DType::F32, "f16[4]")), "add");
  EXPECT_EQ(second(loopOf(DType::F16, "f16[4]")), "add");
  EXPECT_EQ(second(loopOf(DType::F16, "f32[4]")), "mul");
  Graph carried = loopOf(DType::F32, "bf16[4]");
  Graph &body = carried.ops[0].regions[0];
  // Only the sum rounds: to what the next iteration rounds again.
  body.ops.back().operands[1] = body.inputs[1];
  std::erase_if(body.ops, [](const Op &op) { return op.name != "add"; });
  EXPECT_EQ(second(carried), "add");
  carried.ops[0].attributes["carried"] = I(0);
  EXPECT_EQ(second(carried), "") << "each iteration rounds once";
  body.ops[0].location = "elsewhere";
  carried.ops[0].attributes["carried"] = I(1);
  EXPECT_EQ(second(carried), "");
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

// ---- what the decompositions compute ----

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Scalar {
  std::string op;
  Attributes attributes;
  double (*meaning)(double);
};

const Scalar scalars[] = {
    {"relu", {}, [](double x) { return x < 0 ? 0 : x; }},
    {"sigmoid", {}, sigmoid},
    {"silu", {}, [](double x) { return x * sigmoid(x); }},
    {"softplus",
     {},
     [](double x) { return x > 30 ? x : std::log1p(std::exp(x)); }},
    {"hard_swish",
     {},
     [](double x) { return x * std::fmin(std::fmax(x / 6 + 0.5, 0), 1); }},
    {"hard_sigmoid",
     {{"alpha", 0.3}, {"beta", 0.25}},
     [](double x) { return std::fmin(std::fmax(0.3 * x + 0.25, 0), 1); }},
    {"leaky_relu",
     {{"alpha", 0.2}},
     [](double x) { return x >= 0 ? x : 0.2 * x; }},
    {"elu",
     {{"alpha", 1.5}},
     [](double x) { return x > 0 ? x : 1.5 * (std::exp(x) - 1); }},
    {"softsign", {}, [](double x) { return x / (1 + std::fabs(x)); }},
    {"mish",
     {},
     [](double x) {
       return x * std::tanh(x > 30 ? x : std::log1p(std::exp(x)));
     }},
    {"selu",
     {{"alpha", 1.5}, {"gamma", 2.0}},
     [](double x) { return 2 * (x > 0 ? x : 1.5 * (std::exp(x) - 1)); }},
    {"celu",
     {{"alpha", 0.5}},
     [](double x) { return x > 0 ? x : 0.5 * (std::exp(2 * x) - 1); }},
    {"gelu",
     {},
     [](double x) { return x * 0.5 * std::erfc(-x / std::sqrt(2.0)); }},
    {"gelu",
     {{"approximate", S("tanh")}},
     [](double x) {
       double pi = std::acos(-1.0);
       return 0.5 * x *
              (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
     }},
    {"clamp",
     {{"low", -1.0}, {"high", 6.0}},
     [](double x) { return std::fmin(std::fmax(x, -1), 6); }},
    {"clamp",
     {{"low", -INFINITY}, {"high", INFINITY}},
     [](double x) { return x; }},
};

TEST(Decompose, ActivationsMeanWhatTheySay) {
  std::vector<double> points = {-800, -90, -7, -1.5, -0.25, -0.0,
                                0.0,  0.3, 1,  6.5,  90,    800};
  for (const Scalar &scalar : scalars) {
    Graph graph =
        decomposed(single({scalar.op, {"f64[12]"}, scalar.attributes, ""}));
    Tensor y = evaluate(graph, {{{12}, points}});
    for (size_t i = 0; i < points.size(); ++i)
      EXPECT_NEAR(y.data[i], scalar.meaning(points[i]), 1e-12)
          << scalar.op << " of " << points[i];
    Tensor nan = evaluate(graph, {{{12}, std::vector<double>(12, NAN)}});
    EXPECT_TRUE(std::isnan(nan.data[0])) << scalar.op << " loses NaN";
  }
}

TEST(Decompose, SoftmaxIsStable) {
  std::vector<double> x = {1000, 1001, 999, -5, 0, 5};
  for (const char *op : {"softmax", "log_softmax"}) {
    Graph graph = decomposed(single({op, {"f64[2, 3]"}, {{"axis", I(1)}}, ""}));
    Tensor y = evaluate(graph, {{{2, 3}, x}});
    for (size_t i = 0; i < 6; ++i) {
      double sum = 0;
      for (size_t j = i / 3 * 3; j < i / 3 * 3 + 3; ++j)
        sum += std::exp(x[j] - x[i]);
      double expected = op[0] == 's' ? 1 / sum : -std::log(sum);
      EXPECT_NEAR(y.data[i], expected, 1e-12) << op << i;
    }
  }
}

TEST(Decompose, LayerNormTakesSymbolicSizes) {
  Graph graph = decomposed(single({"layer_norm",
                                   {"f64[n, s]", "f64[s]", "f64[s]"},
                                   {{"axis", I(1)}, {"epsilon", 0.5}},
                                   ""}));
  std::vector<double> x = {1, 2, 3, 6, 1e8, 1e8 + 1, 1e8 + 2, 1e8 + 3};
  Tensor y =
      evaluate(graph, {{{2, 4}, x}, {{4}, {1, 2, 3, 4}}, {{4}, {0, 1, 0, -1}}},
               {{"n", 2}, {"s", 4}});
  double means[] = {3, 1e8 + 1.5}, variances[] = {3.5, 1.25};
  double scale[] = {1, 2, 3, 4}, bias[] = {0, 1, 0, -1};
  for (size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(y.data[i],
                (x[i] - means[i / 4]) / std::sqrt(variances[i / 4] + 0.5) *
                        scale[i % 4] +
                    bias[i % 4],
                1e-12);
}

TEST(Decompose, BatchNormIsOneMultiplyAndOneAddOfX) {
  Graph graph = decomposed(
      single({"batch_norm",
              {"f64[1, 2, 2]", "f64[2]", "f64[2]", "f64[2]", "f64[2]"},
              {{"epsilon", 0.25}},
              ""}));
  std::vector<double> x = {1, 2, 3, 4};
  Tensor y = evaluate(graph, {{{1, 2, 2}, x},
                              {{2}, {2, 3}},
                              {{2}, {-1, 1}},
                              {{2}, {0.5, 4}},
                              {{2}, {3.75, 0.75}}});
  for (size_t i = 0; i < 4; ++i) {
    double expected = i < 2 ? (x[i] - 0.5) / 2 * 2 - 1 : (x[i] - 4) / 1 * 3 + 1;
    EXPECT_NEAR(y.data[i], expected, 1e-12);
  }
  size_t ofThatSize = 0;
  for (const Op &op : graph.ops)
    ofThatSize +=
        op.name != "broadcast" && graph.type(op.results[0]).rank() == 3;
  EXPECT_EQ(ofThatSize, 2u);
}

TEST(Decompose, AvgPoolCountsElements) {
  Attributes attributes = {{"window", L({2, 2})},
                           {"strides", L({1, 1})},
                           {"dilations", L({1, 1})},
                           {"low", L({1, 0})},
                           {"high", L({0, 1})}};
  std::vector<double> x = {1, 2, 3, 4};
  for (int64_t countPadding : {0, 1}) {
    attributes["count_padding"] = I(countPadding);
    Graph graph =
        decomposed(single({"avg_pool", {"f64[1, 1, 2, 2]"}, attributes, ""}));
    Tensor y = evaluate(graph, {{{1, 1, 2, 2}, x}});
    std::vector<double> expected = {1.5, 2, 2.5, 3};
    if (countPadding)
      expected = {0.75, 0.5, 2.5, 1.5};
    EXPECT_EQ(y.data, expected);
  }
}

TEST(Decompose, NarrowFloatsComputeInF32) {
  Graph graph = decomposed(single({"sigmoid", {"f16[2]"}, {}, ""}));
  EXPECT_EQ(graph.ops.front().name, "cast");
  EXPECT_EQ(graph.ops.back().name, "cast");
  Tensor y = evaluate(graph, {{{2}, {-9.5, 3}}});
  // Rounded once: the nearest f16 of the exact value.
  for (size_t i = 0; i < 2; ++i) {
    double exact = sigmoid(i ? 3 : -9.5);
    EXPECT_EQ(y.data[i],
              decodeElement(DType::F16, encodeElement(DType::F16, exact), 0));
  }
  EXPECT_EQ(decomposed(single({"relu", {"f16[2]"}, {}, ""})).ops.size(), 2u);
}

TEST(Decompose, IntegersClamp) {
  OpCase c = {"clamp", {"u8[3]"}, {{"low", 3.0}, {"high", 1000.0}}, ""};
  Tensor y = evaluate(decomposed(single(c)), {{{3}, {0, 7, 255}}});
  EXPECT_EQ(y.data, (std::vector<double>{3, 7, 255}));
}

} // namespace
