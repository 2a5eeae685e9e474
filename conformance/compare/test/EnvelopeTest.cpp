// SPDX-License-Identifier: Apache-2.0
#include "conformance/compare/Envelope.h"
#include "conformance/compare/Compare.h"
#include "conformance/compare/Elements.h"
#include "conformance/compare/Tolerance.h"
#include "conformance/oracle/Format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace backplane::conformance {
namespace {

/// Numbers in (-1, 1), the same on every machine.
float sample(uint32_t i) {
  uint32_t x = i * 2654435761u + 12345;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  return static_cast<float>(static_cast<int32_t>(x)) * 0x1p-31f;
}

Tensor make(DType dtype, std::vector<int64_t> dims,
            const std::vector<float> &numbers) {
  Tensor tensor{dtype, std::move(dims), {}};
  tensor.data.resize(packedBytes(dtype, numbers.size()));
  for (size_t i = 0; i < numbers.size(); ++i)
    storeBits(tensor, i, encode(dtype, numbers[i]));
  return tensor;
}

constexpr size_t terms = 256, rows = 40, columns = 30;

/// a b - (a b with the terms of each sum in reverse): zero but for rounding.
struct Cancelling {
  Graph graph;
  std::vector<Tensor> inputs;
  std::vector<float> a, b;

  Cancelling() {
    Dims left = {Dim(rows), Dim(terms)}, right = {Dim(terms), Dim(columns)};
    ValueId x = graph.addInput("a", {DType::F32, left});
    ValueId y = graph.addInput("b", {DType::F32, right});
    auto reversed = [&](ValueId value, int64_t axis) {
      return graph
          .add("reverse", {value}, {{"axes", std::vector<int64_t>{axis}}})
          ->front();
    };
    ValueId first = graph.add("matmul", {x, y})->front();
    ValueId second =
        graph.add("matmul", {reversed(x, 1), reversed(y, 0)})->front();
    graph.addOutput(graph.add("sub", {first, second})->front(), "y");
    for (uint32_t i = 0; i < rows * terms; ++i)
      a.push_back(sample(i));
    for (uint32_t i = 0; i < terms * columns; ++i)
      b.push_back(sample(i + 1000000));
    inputs = {make(DType::F32, {rows, terms}, a),
              make(DType::F32, {terms, columns}, b)};
  }

  /// What a device computes that sums from both ends, in blocks of `block`.
  std::vector<float> device(size_t block) const {
    std::vector<float> result;
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j) {
        float forwards = 0, backwards = 0;
        for (size_t start = 0; start < terms; start += block) {
          float f = 0, r = 0;
          for (size_t k = start; k < start + block; ++k) {
            size_t back = terms - 1 - k;
            f = std::fma(a[i * terms + k], b[k * columns + j], f);
            r = std::fma(a[i * terms + back], b[back * columns + j], r);
          }
          forwards += f;
          backwards += r;
        }
        result.push_back(forwards - backwards);
      }
    return result;
  }
};

class EnvelopeOfCancelling : public testing::Test {
protected:
  void SetUp() override {
    auto told = evaluate(test.graph, test.inputs, {});
    ASSERT_TRUE(told.ok()) << told.message();
    loose = *told;
    tight = *told;
    tightenLoose(test.graph, test.inputs, {}, nullptr, 7, tight);
  }

  Verdict judge(const std::vector<Expected> &expected,
                const std::vector<float> &got) const {
    return compare(expected[0], make(DType::F32, {rows, columns}, got), {});
  }

  Cancelling test;
  std::vector<Expected> loose, tight;
};

TEST_F(EnvelopeOfCancelling, LetsLegalOrdersPass) {
  for (size_t block : {1, 4, 16, 64, 256}) {
    Verdict verdict = judge(tight, test.device(block));
    EXPECT_TRUE(verdict.pass) << block << ": " << verdict.reason;
  }
}

TEST_F(EnvelopeOfCancelling, CatchesWhatTheRunningErrorHides) {
  std::vector<float> got = test.device(256);
  ASSERT_TRUE(isLoose(loose[0]));
  got[77] += 4e-4f;
  EXPECT_TRUE(judge(loose, got).pass);
  EXPECT_FALSE(judge(tight, got).pass);
}

TEST_F(EnvelopeOfCancelling, CatchesASmallErrorInEveryElement) {
  std::vector<float> got = test.device(256);
  for (size_t i = 0; i < got.size(); ++i)
    got[i] += static_cast<float>(tight[0].error[i]) * (i % 2 ? 0.9f : -0.9f);
  Verdict verdict = judge(tight, got);
  EXPECT_FALSE(verdict.pass);
  EXPECT_NE(verdict.reason.find("RMS"), std::string::npos) << verdict.reason;
}

TEST_F(EnvelopeOfCancelling, NeverRaisesALimit) {
  for (size_t i = 0; i < tight[0].error.size(); ++i)
    EXPECT_LE(tight[0].error[i], loose[0].error[i]);
}

/// x - tanh(x (1 + 1/64) ...) in f16: each step loses bits that cancel later.
TEST(Envelope, LimitsFollowTheSpread) {
  EXPECT_EQ(envelopeLimit({0.5L, 0.25L}), 5);
  EXPECT_EQ(envelopeRms(24), 2);
  EXPECT_EQ(envelopeRms(11), 3);
}

TEST(Envelope, LetsF16BeRoundedAtEachStepOrOnce) {
  Graph graph;
  constexpr size_t count = 2000;
  ValueId x = graph.addInput("x", {DType::F16, {Dim(count)}});
  ValueId y = x;
  for (int i = 0; i < 12; ++i)
    y = graph.add("add", {graph.add("mul", {y, x})->front(), x})->front();
  graph.addOutput(graph.add("sub", {y, x})->front(), "y");
  std::vector<float> numbers;
  for (uint32_t i = 0; i < count; ++i)
    numbers.push_back(
        static_cast<float>(decode(DType::F16, encode(DType::F16, sample(i)))));
  std::vector<Tensor> inputs = {make(DType::F16, {count}, numbers)};
  auto expected = evaluate(graph, inputs, {});
  ASSERT_TRUE(expected.ok()) << expected.message();
  ASSERT_TRUE(isLoose((*expected)[0]));
  tightenLoose(graph, inputs, {}, nullptr, 3, *expected);
  for (bool each : {false, true}) {
    auto step = [&](float value) {
      return each ? static_cast<float>(
                        decode(DType::F16, encode(DType::F16, value)))
                  : value;
    };
    std::vector<float> got;
    for (float number : numbers) {
      float value = number;
      for (int i = 0; i < 12; ++i)
        value = step(step(value * number) + number);
      got.push_back(step(value - number));
    }
    Verdict verdict =
        compare((*expected)[0], make(DType::F16, {count}, got), {});
    EXPECT_TRUE(verdict.pass) << each << ": " << verdict.reason;
    got[5] = got[5] * 1.1f + 0.1f;
    EXPECT_FALSE(
        compare((*expected)[0], make(DType::F16, {count}, got), {}).pass);
  }
}

Declaration flushing() {
  Numerics numerics;
  numerics.flushesInput = numerics.flushesOutput = true;
  Declaration declaration;
  for (const char *opClass : {"EXACT", "ULP", "REDUCE", "DOT"})
    declaration.set(opClass, DType::F32, numerics);
  return declaration;
}

TEST_F(EnvelopeOfCancelling, LowersLimitsWhereTheTargetFlushes) {
  auto expected = evaluate(test.graph, test.inputs, flushing());
  ASSERT_TRUE(expected.ok()) << expected.message();
  tightenLoose(test.graph, test.inputs, flushing(), nullptr, 7, *expected);
  std::vector<float> got = test.device(256);
  EXPECT_TRUE(judge(*expected, got).pass);
  got[77] += 4e-4f;
  EXPECT_FALSE(judge(*expected, got).pass);
}

/// x / 2^125 * 2^125, which is 0 for small x where subnormals are.
/// The difference of two exponentials that lie beside ties of f16: rounded to
/// nearest their errors cancel; when one goes the other way it is off by a
/// step.
TEST(Envelope, LetsATieGoEitherWay) {
  constexpr float step = 0x1p-10f; // of f16 in [1, 2)
  std::vector<float> beside;
  for (uint64_t bits = 0x3000; bits < 0x3980; ++bits) { // 0.125 to 0.6875
    Real value = decode(DType::F16, bits), steps = std::exp(value) / step;
    Real above = steps - std::floor(steps) - 0.5L;
    if (above > 0 && above < 0.03L)
      beside.push_back(static_cast<float>(value));
  }
  ASSERT_GT(beside.size(), 1u);
  auto first =
      std::adjacent_find(beside.begin(), beside.end(), [](float a, float b) {
        return std::exp(b) - std::exp(a) < 4 * step;
      });
  ASSERT_NE(first, beside.end());
  Graph graph;
  ValueId x = graph.addInput("x", {DType::F16, {1, 2}});
  ValueId w = graph.addInput("w", {DType::F16, {2, 1}});
  ValueId powers = graph.add("exp", {x})->front();
  graph.addOutput(graph.add("matmul", {powers, w})->front(), "y");
  std::vector<Tensor> inputs = {make(DType::F16, {1, 2}, {first[0], first[1]}),
                                make(DType::F16, {2, 1}, {-1, 1})};
  auto expected = evaluate(graph, inputs, {});
  ASSERT_TRUE(expected);
  ASSERT_TRUE(isLoose((*expected)[0]));
  tightenLoose(graph, inputs, {}, nullptr, 1, *expected);
  EXPECT_GE((*expected)[0].error[0], step);
}

TEST(Envelope, LetsADeclaredFlushPass) {
  constexpr uint32_t count = 500;
  Graph graph;
  ValueId x = graph.addInput("x", {DType::F32, {Dim(count)}});
  auto scaled = [&](ValueId value, float by) {
    Tensor one = make(DType::F32, {}, {by});
    ValueId factor = graph
                         .add("constant", {},
                              {{"value", one.data},
                               {"dtype", int64_t(DType::F32)},
                               {"dims", Dims{Dim(count)}}})
                         ->front();
    return graph.add("mul", {value, factor})->front();
  };
  graph.addOutput(scaled(scaled(x, 0x1p-125f), 0x1p125f), "y");
  std::vector<float> numbers, zeros, wrong;
  for (uint32_t i = 0; i < count; ++i) {
    numbers.push_back(sample(i));
    zeros.push_back(std::fabs(sample(i)) < 0.5f ? 0 : sample(i));
    wrong.push_back(2 * sample(i));
  }
  std::vector<Tensor> inputs = {make(DType::F32, {count}, numbers)};
  auto expected = evaluate(graph, inputs, flushing());
  ASSERT_TRUE(expected.ok()) << expected.message();
  ASSERT_TRUE(isLoose((*expected)[0]));
  tightenLoose(graph, inputs, flushing(), nullptr, 5, *expected);
  auto passes = [&](const std::vector<float> &got) {
    return compare((*expected)[0], make(DType::F32, {count}, got), {}).pass;
  };
  EXPECT_TRUE(passes(numbers));
  EXPECT_TRUE(passes(zeros));
  EXPECT_FALSE(passes(wrong));
}

TEST(Envelope, IsAFunctionOfTheSeed) {
  Cancelling test;
  auto expected = evaluate(test.graph, test.inputs, {});
  ASSERT_TRUE(expected.ok());
  auto first = spreadOf(test.graph, test.inputs, {}, nullptr, 1, *expected);
  auto second = spreadOf(test.graph, test.inputs, {}, nullptr, 1, *expected);
  auto third = spreadOf(test.graph, test.inputs, {}, nullptr, 2, *expected);
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  EXPECT_EQ((*first)[0].sigma, (*second)[0].sigma);
  EXPECT_NE((*first)[0].sigma, (*third)[0].sigma);
}

/// 1 / (a sum that may be zero as far as running errors say): anything is right
/// by those, and the runs say what the value is.
TEST(Envelope, GivesAValueWhereRunningErrorsHaveNone) {
  Graph graph;
  ValueId x = graph.addInput("x", {DType::F32, {Dim(8192)}});
  ValueId sum = graph
                    .add("reduce", {x},
                         {{"kind", std::string("sum")},
                          {"axes", std::vector<int64_t>{0}}})
                    ->front();
  graph.addOutput(graph.add("recip", {sum})->front(), "y");
  std::vector<float> numbers;
  for (uint32_t i = 0; i < 8192; ++i)
    numbers.push_back(i == 0 ? 1 : 3 * sample((i + 1) / 2) * (i % 2 ? 1 : -1));
  numbers.back() = 0;
  std::vector<Tensor> inputs = {make(DType::F32, {8192}, numbers)};
  auto expected = evaluate(graph, inputs, {});
  ASSERT_TRUE(expected.ok()) << expected.message();
  Expected &answer = (*expected)[0];
  ASSERT_FALSE(std::isfinite(answer.error[0]));
  double exact = 0;
  for (float number : numbers)
    exact += number;
  tightenLoose(graph, inputs, {}, nullptr, 1, *expected);
  EXPECT_NEAR(static_cast<double>(answer.value[0]), 1 / exact, 1e-12);
  EXPECT_LT(answer.error[0], 0.5);
  auto right = static_cast<float>(1 / exact);
  EXPECT_TRUE(compare(answer, make(DType::F32, {}, {right}), {}).pass);
  EXPECT_FALSE(compare(answer, make(DType::F32, {}, {right + 1}), {}).pass);
  EXPECT_FALSE(compare(answer, make(DType::F32, {}, {0}), {}).pass);
}

/// A tie of f16 between two ops of f32.
TEST(Envelope, HalfOfTheRunsRoundAValueBetweenOps) {
  Graph graph;
  ValueId x = graph.addInput("x", {DType::F32, {Dim(1)}});
  ValueId root = graph.add("sqrt", {x})->front();
  auto castTo = [&](ValueId value, DType dtype) {
    return graph.add("cast", {value}, {{"dtype", static_cast<int64_t>(dtype)}})
        ->front();
  };
  graph.addOutput(castTo(castTo(root, DType::F16), DType::F32), "y");
  const float tie = 1 + 0x1p-11f;
  std::vector<Tensor> inputs = {make(DType::F32, {1}, {tie * tie})};
  auto expected = evaluate(graph, inputs, {});
  ASSERT_TRUE(expected.ok()) << expected.message();
  for (uint64_t seed = 0; seed < 300; ++seed) {
    auto spreads = spreadOf(graph, inputs, {}, nullptr, seed, *expected);
    ASSERT_TRUE(spreads.ok()) << spreads.message();
    auto sigma = static_cast<double>((*spreads)[0].sigma.at(0));
    ASSERT_NEAR(sigma, 0x1p-11 * std::sqrt(0.5), 0x1p-18) << seed;
  }
}

} // namespace
} // namespace backplane::conformance
