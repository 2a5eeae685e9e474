// SPDX-License-Identifier: Apache-2.0
//
// The simulation that the limits rest on: dot products of K = 2048 random
// numbers with sequential FMA sums. Each fault must be refused and the right
// computation must pass, whether the element-wise limit or a gate decides.
#include "conformance/compare/Compare.h"
#include "conformance/compare/Tolerance.h"

#include <gtest/gtest.h>

#include <cmath>

namespace backplane::conformance {
namespace {

constexpr size_t terms = 2048, outputs = 1500;

/// How one device computes a dot product.
struct Device {
  DType dtype;          ///< of operands and result
  int accumulator = 24; ///< significand bits that sums are rounded to
  size_t dropped = 0;   ///< last terms left out
};

/// Uniform in [-1, 1), from a counter.
double uniform(uint64_t counter) {
  uint64_t z = counter * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return std::ldexp(static_cast<double>((z ^ (z >> 31)) >> 11), -52) - 1;
}

Real rounded(DType dtype, Real value) {
  return decode(dtype, encode(dtype, value));
}

/// To nearest with so many significand bits, whatever the exponent.
Real roundedTo(int bits, Real value) {
  int exponent;
  Real fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)),
                    exponent - bits);
}

/// One sum of products in an accumulator of f32.
struct Dot {
  FloatFormat output;
  Real magnitude = 0; ///< B: sum of |a||b|
};

/// The largest error of any order of summation, tree or use of FMA:
///   n u_a B + u_o (|y| + n u_a B) + n eta_a + eta_o
/// (Jeannerod and Rump, Improved error bounds for inner products in
/// floating-point arithmetic, SIAM J. Matrix Anal. Appl. 34, 2013).
Real dotLimit(const Dot &dot, Real exact) {
  Real accumulated = Real(terms) * unitRoundoff(24) * dot.magnitude;
  Real output =
      unitRoundoff(dot.output.precision) * (std::fabs(exact) + accumulated);
  return accumulated + output +
         Real(terms) * smallest(formatOf(DType::F32), false) +
         smallest(dot.output, false);
}

/// Standard deviation of the error of random data: 0.29 sqrt(n) u_a B +
/// u_o |y|. A rounding error is uniform in one ulp, so its deviation is
/// 1/sqrt(12) = 0.29 of it; errors add like a random walk (Higham and Mary, A
/// new approach to probabilistic rounding error analysis, SIAM J. Sci. Comput.
/// 41, 2019).
Real dotSigma(const Dot &dot, Real exact) {
  return static_cast<Real>(0.29) * std::sqrt(static_cast<Real>(terms)) *
             unitRoundoff(24) * dot.magnitude +
         unitRoundoff(dot.output.precision) * std::fabs(exact);
}

/// The judgement of `device` against limits with an accumulator of f32.
Verdict simulate(const Device &device) {
  Expected expected;
  expected.dtype = device.dtype;
  expected.dims = {int64_t(outputs)};
  expected.match = Match::Limit;
  Tensor got{device.dtype, expected.dims,
             Bytes(outputs * bitWidth(device.dtype) / 8)};
  for (size_t i = 0; i < outputs; ++i) {
    Dot dot{formatOf(device.dtype)};
    Real exact = 0, sum = 0;
    for (size_t k = 0; k < terms; ++k) {
      uint64_t counter = 2 * (i * terms + k);
      Real a = rounded(device.dtype, uniform(counter));
      Real b = rounded(device.dtype, uniform(counter + 1));
      exact += a * b;
      dot.magnitude += std::fabs(a * b);
      if (k + device.dropped < terms)
        sum = roundedTo(device.accumulator, sum + a * b);
    }
    expected.value.push_back(exact);
    expected.bits.push_back(encode(device.dtype, exact));
    expected.error.push_back(dotLimit(dot, exact));
    expected.sigma.push_back(dotSigma(dot, exact));
    storeBits(got, i, encode(device.dtype, sum));
  }
  return compare(expected, got, {});
}

TEST(Simulation, RightSumsPass) {
  for (DType dtype : {DType::F32, DType::F16, DType::BF16}) {
    Verdict verdict = simulate({dtype});
    EXPECT_TRUE(verdict.pass) << name(dtype) << ": " << verdict.reason;
    EXPECT_LT(verdict.rms, 1) << name(dtype);
  }
}

TEST(Simulation, HalfWithoutTheLastTermFails) {
  Verdict verdict = simulate({DType::F16, 24, 1});
  EXPECT_FALSE(verdict.pass);
  EXPECT_GT(verdict.limitUsed, 1);
  EXPECT_GT(verdict.rms, rmsLimit);
}

TEST(Simulation, HalfThatAccumulatesInHalfFails) {
  Verdict verdict = simulate({DType::F16, 11});
  EXPECT_FALSE(verdict.pass);
  EXPECT_GT(verdict.rms, rmsLimit);
}

TEST(Simulation, BfloatWithoutTheLastTermFails) {
  Verdict verdict = simulate({DType::BF16, 24, 1});
  EXPECT_FALSE(verdict.pass);
  EXPECT_GT(verdict.limitUsed, 1);
}

TEST(Simulation, FloatWithASixteenBitAccumulatorFails) {
  Verdict verdict = simulate({DType::F32, 16});
  EXPECT_FALSE(verdict.pass);
  EXPECT_GT(verdict.rms, rmsLimit);
}

/// One row of the table in docs/explanation/conformance.md: a fault, the
/// largest error as a share of its limit and the RMS of error over sigma.
struct Row {
  const char *fault;
  DType dtype;
  int accumulatorBits;
  size_t dropped;
  double bound, rms;
};

constexpr Row rows[] = {
    {"f16, last term dropped", DType::F16, 24, 1, 15, 176},
    {"f16, sums in f16", DType::F16, 11, 0, 6.7, 31},
    {"bf16, last term dropped", DType::BF16, 24, 1, 13.8, 62},
    {"f32, sums in 16 bits", DType::F32, 16, 0, 0.36, 7.9},
    {"f32", DType::F32, 24, 0, 0.0012, 0.030},
    {"f16", DType::F16, 24, 0, 0.21, 0.37},
};

TEST(Simulation, GivesTheTableOfTheDocumentation) {
  for (const Row &row : rows) {
    Verdict verdict = simulate({row.dtype, row.accumulatorBits, row.dropped});
    EXPECT_NEAR(verdict.limitUsed / row.bound, 1, 0.05) << row.fault;
    EXPECT_NEAR(verdict.rms / row.rms, 1, 0.05) << row.fault;
    bool isRight = row.accumulatorBits == 24 && row.dropped == 0;
    EXPECT_EQ(verdict.pass, isRight) << row.fault;
  }
}

} // namespace
} // namespace backplane::conformance
