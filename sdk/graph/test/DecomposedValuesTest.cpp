// SPDX-License-Identifier: Apache-2.0
//
// What the decompositions compute.
#include "Decomposed.h"
#include "Evaluate.h"

#include <cmath>

using namespace backplane;
using namespace backplane::test;

namespace {

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
