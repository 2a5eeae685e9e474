// SPDX-License-Identifier: Apache-2.0
//
// How far results may be from the exact ones, by what a target declares.
#include "SmallOps.h"
#include "conformance/oracle/MidRad.h"

namespace backplane::conformance {

namespace {

TEST(Oracle, RoundsSumsOfDoublesOnce) {
  Expected y =
      only(run("add", {floats(DType::F64, {2}, {1, 1}),
                       floats(DType::F64, {2}, {0x1p-53, 0x1.8p-53})}));
  EXPECT_EQ(y.match, Match::Value);
  EXPECT_EQ(decode(DType::F64, y.bits[0]), 1);
  EXPECT_EQ(decode(DType::F64, y.bits[1]), 1 + 0x1p-52L);
}

/// Factors with more bits than the target keeps may be off by half a unit of
/// the last that stays; others are what they are.
TEST(Oracle, BoundsDemotedFactors) {
  Declaration declaration;
  declaration.set("DOT", DType::F32, {.operandBits = 11});
  auto product = [&](double x, double y) {
    return only(
        run("matmul",
            {floats(DType::F32, {1, 1}, {x}), floats(DType::F32, {1, 1}, {y})},
            {}, declaration));
  };
  const double fine = 1 + 0x1p-12, coarse = 1 + 0x1p-10;
  EXPECT_EQ(product(coarse, 3).error[0], 0);
  EXPECT_GE(product(fine, 3).error[0], 3 * 0x1p-12L);
  EXPECT_LE(product(fine, 3).error[0], 3 * 0x1.01p-11L);
  EXPECT_GE(product(fine, fine).error[0], 2 * 0x1p-12L);
  EXPECT_LT(product(0x1p-136, 1).error[0], 0x1p-140L);
  EXPECT_GE(product(0x1.8p-136, 1).error[0], 0x1p-137L);
  const double largest = 3.4028234e38; // rounded it is infinite
  EXPECT_TRUE(std::isinf(product(largest, 1).error[0]));
  Expected both = only(run("matmul",
                           {floats(DType::F32, {1, 2}, {largest, -largest}),
                            floats(DType::F32, {2, 1}, {1, 1})},
                           {}, declaration));
  EXPECT_TRUE(std::isnan(both.error[0]));
  // What is certain without rounding stays so.
  EXPECT_EQ(product(NAN, fine).error[0], 0);
  EXPECT_EQ(product(INFINITY, fine).error[0], 0);
  EXPECT_TRUE(std::isinf(product(INFINITY, fine).value[0]));
  EXPECT_TRUE(std::isnan(product(INFINITY, 0x1p-149).error[0]));
}

TEST(Oracle, LetsProductsContract) {
  Graph graph;
  TensorType type{DType::F32, {Dim(1)}};
  ValueId a = graph.addInput("a", type), b = graph.addInput("b", type);
  ValueId c = graph.addInput("c", type);
  ValueId product = (*graph.add("mul", {a, b}))[0];
  graph.addOutput((*graph.add("add", {product, c}))[0], "y");
  double x = 1 + 0x1p-12;
  std::vector<Tensor> inputs = {floats(DType::F32, {1}, {x}),
                                floats(DType::F32, {1}, {x}),
                                floats(DType::F32, {1}, {-1})};
  Expected y = only(evaluate(graph, inputs, {}));
  ASSERT_EQ(y.match, Match::Limit);
  double fused = std::fma(x, x, -1.0);
  double apart = static_cast<float>(static_cast<float>(x * x) - 1.0F);
  EXPECT_NE(fused, apart);
  EXPECT_LE(std::fabs(fused - y.value[0]), y.error[0]);
  EXPECT_LE(std::fabs(apart - y.value[0]), y.error[0]);
  EXPECT_LT(y.error[0], 0x1p-23L);
  Declaration plain;
  plain.set("EXACT", DType::F32, {.contracts = false});
  Expected strict = only(evaluate(graph, inputs, plain));
  EXPECT_EQ(strict.match, Match::Value);
  EXPECT_EQ(decode(DType::F32, strict.bits[0]), apart);
}

TEST(Oracle, BoundsSoftmaxByTheFormula) {
  Expected y = only(run("softmax", {floats(DType::F32, {2}, {0, 1})},
                        {{"axis", int64_t(0)}}));
  Real p = 1 / (1 + std::exp(Real(-1))), u = 0x1p-24L;
  ASSERT_EQ(y.match, Match::Limit);
  EXPECT_NEAR(static_cast<double>(y.value[1]), static_cast<double>(p), 1e-17);
  EXPECT_GT(y.error[1], p * u);
  // Two functions of 3 ulp, a quotient of 2.5, a sum, the output.
  EXPECT_LT(y.error[1], p * u * (4 * 3 + 5 + 2 + 2 + 3));
}

TEST(Oracle, BoundsDotProducts) {
  // K 2048, B 512, y 0 or 512: accumulation 0.0625, output 2^-11 |y|.
  std::vector<double> a, b;
  for (int i = 0; i < 2048; ++i) {
    a.push_back(1 + (i % 7) * 0x1p-10);
    b.push_back(0.25);
  }
  Expected y = only(run("matmul", {floats(DType::F16, {1, 2048}, a),
                                   floats(DType::F16, {2048, 1}, b)}));
  // Multiples of 2^-12 below 2^12: no partial sum rounds in f32.
  EXPECT_LE(y.error[0], ulp(formatOf(DType::F16), y.value[0]) / 2);
  a[0] = 0x1p-20;
  y = only(run("matmul", {floats(DType::F16, {1, 2048}, a),
                          floats(DType::F16, {2048, 1}, b)}));
  Real magnitude = y.value[0], out = ulp(formatOf(DType::F16), magnitude) / 2;
  Real expected = 2048 * 0x1p-24L * magnitude;
  EXPECT_NEAR(static_cast<double>(y.error[0] / (expected + out)), 1, 0.01);
  EXPECT_GT(y.sigma[0], 0);
}

TEST(Oracle, TakesIntegerDotsAsExact) {
  Expected y = only(run("matmul", {floats(DType::F32, {1, 3}, {1, -2, 3}),
                                   floats(DType::F32, {3, 1}, {4, 5, 6})}));
  EXPECT_EQ(y.value[0], 12);
  EXPECT_EQ(y.error[0], 0);
  y = only(run("matmul", {integers(DType::I8, {1, 2}, {127, 127}),
                          integers(DType::I8, {2, 1}, {127, 1})}));
  EXPECT_EQ(y.bits[0], uint64_t((127 * 127 + 127) & 255));
}

TEST(Oracle, FlushesOnlyWhereDeclared) {
  Tensor x = floats(DType::F32, {1}, {0x1p-130});
  Tensor two = floats(DType::F32, {1}, {2});
  EXPECT_EQ(only(run("mul", {x, two})).match, Match::Value);
  Declaration flush;
  flush.set("EXACT", DType::F32, {.flushesInput = true, .flushesOutput = true});
  Expected y = only(run("mul", {x, two}, {}, flush));
  ASSERT_EQ(y.match, Match::Limit);
  EXPECT_GE(y.error[0], y.value[0]); // zero is right
}

TEST(Oracle, FlushesFactorsOnlyWhereDeclared) {
  Declaration flush;
  flush.set("DOT", DType::BF16, {.accumulatorBits = 24, .flushesInput = true});
  auto dot = [&](double factor, const Declaration &declaration) {
    return only(run("matmul",
                    {floats(DType::BF16, {1, 2}, {0x1p-130, 1}),
                     floats(DType::BF16, {2, 1}, {factor, 3})},
                    {}, declaration));
  };
  EXPECT_LT(dot(0x1p127, {}).error[0], 0x1p-6);
  EXPECT_GE(dot(0x1p127, flush).error[0], 0x1p-3); // 3 is right
  EXPECT_LT(dot(0x1p127, flush).error[0], 0x1p-2);
  EXPECT_EQ(dot(INFINITY, {}).error[0], 0);
  EXPECT_TRUE(std::isnan(dot(INFINITY, flush).error[0]));
}

TEST(Oracle, KeepsOverflowBesideTheLimit) {
  Expected y = only(run("exp", {floats(DType::F32, {2}, {88.7228, 89})}));
  EXPECT_LT(y.value[0] - y.error[0], formatOf(DType::F32).max);
  EXPECT_GT(y.value[1] - y.error[1], formatOf(DType::F32).max);
  EXPECT_EQ(y.bits[1], 0x7f800000U);
}

TEST(Oracle, AdmitsNaNWhereBothSignsOverflow) {
  Attributes all = {{"kind", std::string("sum")},
                    {"axes", std::vector<int64_t>{0}}};
  auto sum = [&](const std::vector<double> &x) {
    auto size = static_cast<int64_t>(x.size());
    return only(run("reduce", {floats(DType::F32, {size}, x)}, all));
  };
  double most = 3e38;
  EXPECT_TRUE(std::isnan(sum({most, most, -most, -most, 1}).error[0]));
  EXPECT_TRUE(std::isinf(sum({most, most, -1}).error[0]));
  EXPECT_TRUE(std::isnan(sum({INFINITY, -most, -most}).error[0]));
  EXPECT_EQ(sum({INFINITY, most, most}).error[0], 0);
}

TEST(Oracle, SumsInCompositesAsSumsDeclare) {
  Declaration declaration;
  declaration.set("RUNNING", DType::BF16, {.accumulatorBits = 8});
  std::vector<double> zeros(257);
  auto softmax = [&] {
    return only(run("softmax", {floats(DType::BF16, {257}, zeros)},
                    {{"axis", int64_t(0)}}, declaration));
  };
  declaration.set("REDUCE", DType::BF16, {.accumulatorBits = 8});
  declaration.set("DOT", DType::BF16, {.accumulatorBits = 8});
  Expected narrow = softmax();
  EXPECT_LE(narrow.error[0], 1.1); // a share, whatever the errors are
  EXPECT_GT(narrow.error[0], 0.9);
  declaration.set("REDUCE", DType::BF16, {.accumulatorBits = 24});
  declaration.set("DOT", DType::BF16, {.accumulatorBits = 24});
  EXPECT_LT(softmax().error[0], 0.1 * softmax().value[0]);
}

TEST(Oracle, GivesNarrowStepsTheRangeOfSingle) {
  Declaration declaration;
  declaration.set("RUNNING", DType::F16, {.accumulatorBits = 11});
  Tensor x = floats(DType::F16, {1, 2}, {400, -300}),
         one = floats(DType::F16, {2}, {1, 1});
  Expected y =
      only(run("rms_norm", {x, one}, {{"axis", int64_t(1)}}, declaration));
  EXPECT_NEAR(static_cast<double>(y.value[0]), 1.1314, 1e-4);
  EXPECT_LT(y.error[0], 0.01);
}

TEST(Oracle, AllowsProductsThatLeaveTheRangeOnTheWay) {
  std::vector<double> factors = {1e30, 1e30, 1e-30};
  Attributes combine = {{"combine", std::string("mul")}};
  Attributes running = {{"kind", std::string("prod")}, {"axis", int64_t(0)}};
  for (DType dtype : {DType::F32, DType::BF16}) {
    // In f32 the second product is infinite, in f64 it is not.
    Expected y =
        only(run("scatter",
                 {floats(dtype, {1}, {1}), integers(DType::I64, {3}, {0, 0, 0}),
                  floats(dtype, {3}, factors)},
                 combine));
    EXPECT_EQ(y.error[0], infinity);
    EXPECT_NEAR(double(y.value[0] / 1e30L), 1, 0.02);
    y = only(run("cumulative", {floats(dtype, {3}, factors)}, running));
    EXPECT_EQ(y.error[0], 0) << "one factor is not rounded";
    EXPECT_EQ(y.error[2], infinity);
    y = only(
        run("cumulative", {floats(dtype, {3}, {1e-30, 1e-30, 1e30})}, running));
    EXPECT_GE(y.error[2], y.value[2]) << "the second one may be zero";
  }
}

// In some order small factors meet first, and are zero when large ones are
// infinite.
TEST(Oracle, AdmitsNaNWhereAProductOfAnyOrderVanishesAndOverflows) {
  auto product = [&](const std::vector<double> &x) {
    auto size = static_cast<int64_t>(x.size());
    return only(run(
        "reduce", {floats(DType::F32, {size}, x)},
        {{"kind", std::string("prod")}, {"axes", std::vector<int64_t>{0}}}));
  };
  EXPECT_TRUE(
      std::isnan(product({1e-38, 1e-38, 3e38, 3e38, 3e38, 3e38}).error[0]));
  EXPECT_TRUE(std::isnan(product({1e-38, 1e-38, 3e38, 3e38}).error[0]));
  EXPECT_TRUE(std::isnan(product({INFINITY, 1e-38, 1e-38}).error[0]));
  EXPECT_FALSE(std::isnan(product({3e38, 3e38, 0.5}).error[0]));
  EXPECT_EQ(product({INFINITY, 0.5, 0.5}).error[0], 0);
  Expected certain = product({NAN, 1e-38, 1e-38, 3e38, 3e38});
  EXPECT_TRUE(std::isnan(certain.value[0]));
  EXPECT_EQ(certain.error[0], 0);
}

} // namespace

} // namespace backplane::conformance
