// SPDX-License-Identifier: Apache-2.0
//
// The worked examples of docs/explanation/conformance.md.
#include "conformance/compare/Tolerance.h"

#include <gtest/gtest.h>

#include <cmath>

namespace backplane::conformance {
namespace {

Dot halfDot() {
  Dot dot;
  dot.output = formatOf(DType::F16);
  dot.accumulatorBits = 24;
  dot.accumulatorSmallest = smallest(formatOf(DType::F32), false);
  dot.terms = 2048;
  dot.magnitude = 512;
  return dot;
}

TEST(Tolerance, DotOfHalf) {
  EXPECT_NEAR(static_cast<double>(dotLimit(halfDot(), 15)), 0.0699, 1e-4);
}

TEST(Tolerance, RoundingToZeroDoublesTheLimit) {
  Dot dot = halfDot();
  Real nearest = dotLimit(dot, 15);
  dot.roundsToZero = true;
  EXPECT_NEAR(static_cast<double>(dotLimit(dot, 15) / nearest), 2, 1e-2);
}

TEST(Tolerance, DemotionAddsTwoRoundingsOfOperands) {
  Dot dot = halfDot();
  Real plain = dotLimit(dot, 15);
  dot.operandBits = 11;
  EXPECT_NEAR(static_cast<double>(dotLimit(dot, 15) - plain),
              2 * std::ldexp(1.0, -11) * 512, 1e-9);
}

TEST(Tolerance, IntegersThatFitAreExact) {
  Dot dot = halfDot();
  dot.magnitude = std::ldexp(Real(1), 24);
  EXPECT_TRUE(isExactDot(dot));
  dot.magnitude += 1;
  EXPECT_FALSE(isExactDot(dot));
}

TEST(Tolerance, SumsHaveOneAdditionLess) {
  Dot dot;
  dot.output = formatOf(DType::F32);
  dot.terms = 1;
  dot.magnitude = 1;
  Real rounding = std::ldexp(Real(1), -24) + std::ldexp(Real(1), -149);
  EXPECT_EQ(sumLimit(dot, 1, false), rounding);
  EXPECT_GT(sumLimit(dot, 1, true), rounding);
}

TEST(Tolerance, ProductsGrowWithTheirLength) {
  Real u = std::ldexp(Real(1), -24);
  EXPECT_NEAR(static_cast<double>(productLimit(8, 3, 24) / (8 * u)), 3, 1e-5);
}

TEST(Tolerance, Ulp) {
  const FloatFormat &f32 = formatOf(DType::F32);
  Real eta = std::ldexp(Real(1), -149);
  EXPECT_EQ(ulpLimit(f32, 1.5L, 2, false), std::ldexp(Real(1), -22) + eta);
  EXPECT_EQ(ulpLimit(f32, 0, 2, false), 3 * eta);
  EXPECT_GE(ulpLimit(f32, 0, 2, true), std::ldexp(Real(1), -126));
}

TEST(Tolerance, RequantizeAcceptsNeighboursNearTiesOnly) {
  EXPECT_TRUE(requantizeAccepts(2.5L, 24, -128, 127, 2));
  EXPECT_TRUE(requantizeAccepts(2.5L, 24, -128, 127, 3));
  EXPECT_TRUE(requantizeAccepts(2.4999999L, 24, -128, 127, 3));
  EXPECT_FALSE(requantizeAccepts(2.49L, 24, -128, 127, 3));
  EXPECT_TRUE(requantizeAccepts(300, 24, -128, 127, 127));
  EXPECT_FALSE(requantizeAccepts(300, 24, -128, 127, 44));
}

TEST(Tolerance, Envelope) {
  EXPECT_EQ(envelopeLimit({0.5L, 0.25L}), 5);
  EXPECT_EQ(envelopeRms(24), 2);
  EXPECT_EQ(envelopeRms(11), 3);
}

} // namespace
} // namespace backplane::conformance
