// SPDX-License-Identifier: Apache-2.0
#include "conformance/compare/Compare.h"
#include "conformance/compare/Elements.h"
#include "conformance/oracle/Format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace backplane::conformance {
namespace {

Tensor one(DType dtype, uint64_t bits) {
  Tensor tensor{dtype, {1}, Bytes(packedBytes(dtype, 1))};
  storeBits(tensor, 0, bits);
  return tensor;
}

Expected limit(DType dtype, Real value, Real error) {
  Expected expected;
  expected.dtype = dtype;
  expected.dims = {1};
  expected.match = Match::Limit;
  expected.bits = {encode(dtype, value)};
  expected.value = {value};
  expected.error = {error};
  return expected;
}

TEST(Compare, DescribesTheWorstElement) {
  Expected expected = limit(DType::F32, 1, 0.25L);
  Verdict verdict = compare(expected, one(DType::F32, 0x3fc00000), {});
  EXPECT_FALSE(verdict.pass);
  EXPECT_EQ(verdict.got, "1.5 (0x3fc00000)");
  EXPECT_EQ(verdict.want, "1 (0x3f800000) +- 0.25");
  EXPECT_DOUBLE_EQ(verdict.limitUsed, 2);
  EXPECT_EQ(verdict.ulps[7], 1u); // half of 1 is 2^22 ulp of f32
  EXPECT_EQ(verdict.elements, 1u);
}

TEST(Compare, CorrectRoundingPassesWithoutALimit) {
  Expected expected = limit(DType::F16, 1 + std::ldexp(Real(1), -12), 0);
  EXPECT_TRUE(compare(expected, one(DType::F16, 0x3c00), {}).pass);
  EXPECT_FALSE(compare(expected, one(DType::F16, 0x3c01), {}).pass);
}

TEST(Compare, OverflowIsRightNearTheLargestNumber) {
  uint64_t infinity = 0x7c00, minusInfinity = 0xfc00;
  Expected near = limit(DType::F16, 65504, 32);
  EXPECT_TRUE(compare(near, one(DType::F16, infinity), {}).pass);
  EXPECT_FALSE(compare(near, one(DType::F16, minusInfinity), {}).pass);
  Expected below = limit(DType::F16, 65000, 32);
  EXPECT_FALSE(compare(below, one(DType::F16, infinity), {}).pass);
}

constexpr Real anything = std::numeric_limits<Real>::quiet_NaN();

TEST(Compare, AnErrorOfNanAdmitsAnything) {
  for (Real value : {Real(0), Real(1), Real(70000)})
    for (uint64_t bits :
         {0x0000, 0x8000, 0x3c00, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0xfe01})
      EXPECT_TRUE(
          compare(limit(DType::F16, value, anything), one(DType::F16, bits), {})
              .pass)
          << double(value) << " " << bits;
}

TEST(Compare, AnErrorOfNanCountsInNoStatistics) {
  Expected expected = limit(DType::F16, 1, anything);
  expected.sigma = {0.001L};
  Verdict verdict = compare(expected, one(DType::F16, 0x4400), {});
  EXPECT_TRUE(verdict.pass);
  EXPECT_EQ(verdict.rms, 0);
  EXPECT_EQ(verdict.limitUsed, 0);
}

TEST(Compare, ValuesBeyondTheLargestAreInfinities) {
  Expected beyond = limit(DType::F16, 70000, 10);
  EXPECT_TRUE(compare(beyond, one(DType::F16, 0x7c00), {}).pass);
  EXPECT_FALSE(compare(beyond, one(DType::F16, 0x7bff), {}).pass);
  EXPECT_FALSE(compare(beyond, one(DType::F16, 0xfc00), {}).pass);
  EXPECT_FALSE(compare(beyond, one(DType::F16, 0x7e00), {}).pass);
}

TEST(Compare, LimitsThatReachBeyondBothEndsAdmitBothInfinities) {
  Expected both = limit(DType::F16, 100, 70000);
  EXPECT_TRUE(compare(both, one(DType::F16, 0x7c00), {}).pass);
  EXPECT_TRUE(compare(both, one(DType::F16, 0xfc00), {}).pass);
  Expected above = limit(DType::F16, 100, 65450);
  EXPECT_TRUE(compare(above, one(DType::F16, 0x7c00), {}).pass);
  EXPECT_FALSE(compare(above, one(DType::F16, 0xfc00), {}).pass);
}

TEST(Compare, NumbersBeyondTheLargestRoundToInfinityWithoutError) {
  Verdict verdict =
      compare(limit(DType::F16, 70000, 5000), one(DType::F16, 0x7c00), {});
  EXPECT_TRUE(verdict.pass);
  EXPECT_EQ(verdict.limitUsed, 0);
  EXPECT_EQ(verdict.ulps[0], 1u);
}

TEST(Compare, NanStandsForOverflowWithoutInfinities) {
  uint64_t nan = 0x7f;
  EXPECT_TRUE(
      compare(limit(DType::F8E4M3FN, 448, 16), one(DType::F8E4M3FN, nan), {})
          .pass);
  EXPECT_FALSE(
      compare(limit(DType::F8E4M3FN, 400, 16), one(DType::F8E4M3FN, nan), {})
          .pass);
}

TEST(Compare, FlushingIsRightOnlyWhenDeclared) {
  Real subnormal = std::ldexp(Real(1), -130);
  Expected expected = limit(DType::F32, subnormal, 0);
  Numerics flushing;
  flushing.flushesOutput = true;
  EXPECT_FALSE(compare(expected, one(DType::F32, 0), {}).pass);
  EXPECT_TRUE(compare(expected, one(DType::F32, 0), flushing).pass);
  expected.match = Match::Value;
  EXPECT_FALSE(compare(expected, one(DType::F32, 0), {}).pass);
  EXPECT_TRUE(compare(expected, one(DType::F32, 0), flushing).pass);
  expected.bits = {0x3f800000};
  EXPECT_FALSE(compare(expected, one(DType::F32, 0), flushing).pass);
}

TEST(Compare, AnUnboundedLimitStillRefusesNan) {
  Expected expected =
      limit(DType::F32, 1, std::numeric_limits<Real>::infinity());
  EXPECT_TRUE(compare(expected, one(DType::F32, 0x7f800000), {}).pass);
  EXPECT_FALSE(compare(expected, one(DType::F32, 0x7fc00000), {}).pass);
}

TEST(Compare, ReadsPackedIntegers) {
  Expected expected;
  expected.dtype = DType::I4;
  expected.dims = {3};
  expected.bits = {0xf, 0x1, 0x8};
  Tensor got{DType::I4, {3}, {0x1f, 0x08}};
  EXPECT_TRUE(compare(expected, got, {}).pass);
  got.data[0] = 0xf1;
  Verdict verdict = compare(expected, got, {});
  EXPECT_FALSE(verdict.pass);
  EXPECT_EQ(verdict.want, "-1 (0xf)");
}

} // namespace
} // namespace backplane::conformance
