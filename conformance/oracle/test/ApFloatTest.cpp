// SPDX-License-Identifier: Apache-2.0
//
// Format.h against LLVM's APFloat: every bit pattern of the narrow formats, and
// rounding at and around every tie between neighbours.
#include "conformance/oracle/Format.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"

#include "gtest/gtest.h"

#include <cmath>

namespace backplane::conformance {

namespace {

const llvm::fltSemantics &semanticsOf(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return llvm::APFloat::IEEEdouble();
  case DType::F32:
    return llvm::APFloat::IEEEsingle();
  case DType::F16:
    return llvm::APFloat::IEEEhalf();
  case DType::BF16:
    return llvm::APFloat::BFloat();
  case DType::F8E4M3FN:
    return llvm::APFloat::Float8E4M3FN();
  case DType::F8E4M3FNUZ:
    return llvm::APFloat::Float8E4M3FNUZ();
  case DType::F8E5M2FNUZ:
    return llvm::APFloat::Float8E5M2FNUZ();
  case DType::F8E8M0FNU:
    return llvm::APFloat::Float8E8M0FNU();
  case DType::F4E2M1FN:
    return llvm::APFloat::Float4E2M1FN();
  default:
    return llvm::APFloat::Float8E5M2();
  }
}

double theirDecode(DType dtype, uint64_t bits) {
  llvm::APFloat x(semanticsOf(dtype), llvm::APInt(bitWidth(dtype), bits));
  if (x.isNaN()) // that of F8E8M0FNU is converted to infinity
    return std::nan("");
  bool loses = false;
  x.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven,
            &loses);
  return x.convertToDouble();
}

uint64_t theirEncode(DType dtype, double value) {
  llvm::APFloat x(value);
  bool loses = false;
  x.convert(semanticsOf(dtype), llvm::APFloat::rmNearestTiesToEven, &loses);
  return x.bitcastToAPInt().getZExtValue();
}

void expectSameRounding(DType dtype, double value) {
  uint64_t ours = encode(dtype, value), theirs = theirEncode(dtype, value);
  if (std::isnan(theirDecode(dtype, theirs)))
    ASSERT_TRUE(std::isnan(decode(dtype, ours))) << value;
  else
    ASSERT_EQ(ours, theirs) << value;
}

/// A tie, what lies next to it, and what lies a quarter off, with both signs.
void expectSameRoundingAround(DType dtype, double a, double b) {
  double tie = a / 2 + b / 2;
  for (double x : {tie, std::nextafter(tie, a), std::nextafter(tie, b),
                   tie / 2 + a / 2, tie / 2 + b / 2})
    for (double sign : {1.0, -1.0})
      expectSameRounding(dtype, sign * x);
}

void expectSameDecoding(DType dtype) {
  for (uint64_t bits = 0; bits >> bitWidth(dtype) == 0; ++bits) {
    double theirs = theirDecode(dtype, bits);
    Real ours = decode(dtype, bits);
    if (std::isnan(theirs))
      ASSERT_TRUE(std::isnan(ours)) << bits;
    else
      ASSERT_EQ(ours, theirs) << bits;
    ASSERT_EQ(std::signbit(ours) && !std::isnan(ours),
              std::signbit(theirs) && !std::isnan(theirs))
        << bits;
  }
}

class Formats : public testing::TestWithParam<DType> {};

TEST_P(Formats, DecodeAsApFloatDoes) { expectSameDecoding(GetParam()); }

TEST_P(Formats, RoundAsApFloatDoes) {
  DType dtype = GetParam();
  double last = theirDecode(dtype, 0);
  uint64_t half = uint64_t(1) << (bitWidth(dtype) - 1);
  for (uint64_t bits = 1; bits < half; ++bits) {
    double next = theirDecode(dtype, bits);
    if (!std::isfinite(next))
      break;
    expectSameRoundingAround(dtype, last, next);
    last = next;
  }
  // Beyond the largest: as if the format went on.
  double step = last - theirDecode(dtype, encode(dtype, last) - 1);
  expectSameRoundingAround(dtype, last, last + step);
  for (double x : {last + step, 2 * last, 1e300, HUGE_VAL, std::nan("")})
    expectSameRounding(dtype, x);
}

INSTANTIATE_TEST_SUITE_P(Narrow, Formats,
                         testing::Values(DType::F16, DType::BF16,
                                         DType::F8E4M3FN, DType::F8E5M2,
                                         DType::F8E4M3FNUZ, DType::F8E5M2FNUZ));

// What `cast` makes of numbers that these do not have is not what APFloat does.
TEST(SmallFormats, DecodeAsApFloatDoes) {
  expectSameDecoding(DType::F8E8M0FNU);
  expectSameDecoding(DType::F4E2M1FN);
}

TEST(SmallFormats, RoundAsApFloatDoesBetweenNumbers) {
  for (uint64_t bits = 1; bits < 8; ++bits)
    expectSameRoundingAround(DType::F4E2M1FN,
                             theirDecode(DType::F4E2M1FN, bits - 1),
                             theirDecode(DType::F4E2M1FN, bits));
}

TEST(WideFormats, RoundAsApFloatDoes) {
  uint64_t state = 1;
  for (int i = 0; i < 200000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    auto bits = static_cast<uint32_t>(state >> 32) & 0x7fffffff;
    double a = theirDecode(DType::F32, bits);
    double b = theirDecode(DType::F32, bits + 1);
    if (std::isfinite(a) && std::isfinite(b))
      expectSameRoundingAround(DType::F32, a, b);
  }
}

/// Rounding to f32 on the way to f16 gives another number for these.
TEST(WideFormats, RoundOnceOnly) {
  for (double x : {1 + 0x1p-11 + 0x1p-40, 1 + 0x3p-11 - 0x1p-40}) {
    auto twice = static_cast<double>(static_cast<float>(x));
    EXPECT_NE(encode(DType::F16, x), encode(DType::F16, twice));
    expectSameRounding(DType::F16, x);
  }
}

} // namespace

} // namespace backplane::conformance
