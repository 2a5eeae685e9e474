// SPDX-License-Identifier: Apache-2.0
//
// Casts from and to all dtypes.
#include "Elementwise.h"

using namespace reftest;

namespace {

using Bytes = std::vector<uint8_t>;

int64_t castToInteger(double value, bp_dtype_t to) {
  if (to == BP_DTYPE_BOOL)
    return value != 0;
  if (std::isnan(value))
    return 0;
  long double top = isUnsigned(to) ? (long double)uint64_t(highest(to))
                                   : (long double)highest(to);
  long double whole = truncl(value);
  if (whole >= top)
    return highest(to);
  if (whole <= (long double)lowest(to))
    return lowest(to);
  return isUnsigned(to) ? int64_t(uint64_t(whole)) : int64_t(whole);
}

Tensor cast(const Tensor &x, bp_dtype_t to) {
  return runOk("cast", {x}, {{"dtype", int64_t(to)}});
}

} // namespace

TEST(Cast, FloatToAll) {
  std::vector<double> values = interesting();
  for (double edge : {127.0, 128.0, -128.0, -129.0, 255.0, 256.0, 255.9, -0.9,
                      2147483648.0, -2147483649.0, 4294967296.0,
                      9223372036854775808.0, -9223372036854775808.0,
                      18446744073709551616.0, 1e300, 65519.0, 65520.0, 65535.0})
    values.push_back(edge);
  // Ties and neighbours of the narrow floats.
  for (double tie : {1 + 0x1p-11, 1 + 0x3p-11, 1 + 0x1p-8, 1 + 0x3p-8, 0x1p-25,
                     0x1.8p-24, 0x1.000001p-25, 0x1p-134, 0x1.8p-133, 3.389e38,
                     3.4e38, 1 + 0x1p-24, 1 + 0x3p-24, 0x1p-150})
    values.push_back(tie);
  for (bp_dtype_t from : floatTypes) {
    Tensor x = Tensor::floats(from, {int64_t(values.size())}, values);
    for (bp_dtype_t to : allTypes) {
      Tensor y = cast(x, to);
      ASSERT_EQ(y.dtype, to);
      for (int64_t i = 0; i < x.count(); ++i) {
        if (isFloat(to))
          EXPECT_EQ(ulps(to, y.f(i), rounded(to, x.f(i))), 0)
              << x.f(i) << " to " << to;
        else
          EXPECT_EQ(y.i(i), castToInteger(x.f(i), to))
              << x.f(i) << " to " << to;
      }
    }
  }
}

TEST(Cast, IntegerToAll) {
  for (bp_dtype_t from : intTypes) {
    std::vector<int64_t> values = integers(from);
    for (int shift = 0; shift < 60; ++shift) // around rounding ties
      for (int64_t offset : {-1, 0, 1})
        values.push_back(wrapped(from, (int64_t(0x1000801) << shift) + offset));
    Tensor x = Tensor::ints(from, {int64_t(values.size())}, values);
    for (bp_dtype_t to : allTypes) {
      Tensor y = cast(x, to);
      for (int64_t i = 0; i < x.count(); ++i) {
        auto value = meaning(x, i);
        if (isFloat(to))
          EXPECT_EQ(y.f(i), rounded(to, (long double)value))
              << x.i(i) << " of " << from << " to " << to;
        else if (to == BP_DTYPE_BOOL)
          EXPECT_EQ(y.i(i), x.i(i) != 0);
        else
          EXPECT_EQ(y.i(i), wrapped(to, x.i(i)));
      }
    }
  }
}

TEST(Cast, BoolToAll) {
  Tensor x = Tensor::ints(BP_DTYPE_BOOL, {2}, {0, 1});
  for (bp_dtype_t to : allTypes) {
    Tensor y = cast(x, to);
    EXPECT_EQ(isFloat(to) ? y.f(1) : double(y.i(1)), 1);
    EXPECT_EQ(isFloat(to) ? y.f(0) : double(y.i(0)), 0);
  }
}

TEST(Cast, StoredDtypesFromAndToAll) {
  std::vector<double> values = interesting();
  for (double edge :
       {448.0,   464.0,     464.1,   480.0,     57344.0, 61439.0, 61440.0,
        0x1p-10, 0x1.8p-10, 0x1p-17, 0x1.8p-16, 1.0625,  1.1875,  7.0,
        7.5,     8.0,       -8.0,    -8.5,      -9.0,    15.5,    16.0})
    values.push_back(edge);
  Tensor x = Tensor::floats(BP_DTYPE_F64, {int64_t(values.size())}, values);
  for (bp_dtype_t narrow : storedTypes) {
    Tensor y = cast(x, narrow);
    for (int64_t i = 0; i < x.count(); ++i)
      if (isFloat(narrow))
        EXPECT_EQ(ulps(narrow, y.f(i), rounded(narrow, x.f(i))), 0)
            << x.f(i) << " to " << narrow;
      else
        EXPECT_EQ(y.i(i), castToInteger(x.f(i), narrow)) << x.f(i);
    for (bp_dtype_t to : allTypes) {
      Tensor z = cast(y, to);
      for (int64_t i = 0; i < y.count(); ++i) {
        double value = isFloat(narrow) ? y.f(i) : double(y.i(i));
        if (isFloat(to))
          EXPECT_EQ(ulps(to, z.f(i), rounded(to, value)), 0) << value;
        else if (isFloat(narrow))
          EXPECT_EQ(z.i(i), castToInteger(value, to)) << value;
        else
          EXPECT_EQ(z.i(i),
                    to == BP_DTYPE_BOOL ? value != 0 : wrapped(to, y.i(i)));
      }
    }
  }
}

TEST(Cast, OverflowOfF8) {
  Tensor x = Tensor::floats(BP_DTYPE_F32, {4}, {464, 465, -inf, nan_});
  Tensor finite = cast(x, BP_DTYPE_F8E4M3FN); // has no infinities
  EXPECT_EQ(finite.bytes, (std::vector<uint8_t>{0x7E, 0x7F, 0xFF, 0x7F}));
  x = Tensor::floats(BP_DTYPE_F32, {3}, {61439, 61440, -inf});
  Tensor ieee = cast(x, BP_DTYPE_F8E5M2);
  EXPECT_EQ(ieee.bytes, (std::vector<uint8_t>{0x7B, 0x7C, 0xFC}));
}

TEST(Cast, FormatsWithoutMinusZero) {
  Tensor x =
      Tensor::floats(BP_DTYPE_F32, {7}, {247, 248, -inf, nan_, -0.0, -1e-9, 1});
  Tensor y = cast(x, BP_DTYPE_F8E4M3FNUZ);
  EXPECT_EQ(y.bytes, (Bytes{0x7F, 0x80, 0x80, 0x80, 0, 0, 0x40}));
  EXPECT_EQ(cast(y, BP_DTYPE_F32).f(0), 240);
  EXPECT_TRUE(std::isnan(cast(y, BP_DTYPE_F32).f(1)));
  x = Tensor::floats(BP_DTYPE_F64, {4}, {-61439, 61440, 0x1p-17, 0x1p-18});
  y = cast(x, BP_DTYPE_F8E5M2FNUZ);
  EXPECT_EQ(y.bytes, (Bytes{0xFF, 0x80, 1, 0}));
}

TEST(Cast, PowersOfTwo) {
  Tensor x = Tensor::floats(
      BP_DTYPE_F64, {9},
      {0, -3, 1.49, 1.5, 0x1.7p127, 0x1.8p127, inf, nan_, 0x1.8p-127});
  Tensor y = cast(x, BP_DTYPE_F8E8M0FNU);
  EXPECT_EQ(y.bytes, (Bytes{0, 0, 127, 128, 254, 255, 255, 255, 1}));
  Tensor back = cast(y, BP_DTYPE_F32);
  EXPECT_EQ(back.f(0), 0x1p-127);
  EXPECT_EQ(back.f(3), 2);
  EXPECT_TRUE(std::isnan(back.f(5)));
}

TEST(Cast, FloatsOfFourBits) {
  Tensor x = Tensor::floats(
      BP_DTYPE_F32, {9}, {0.25, 0.26, -0.75, 1.25, 2.5, 5, -inf, nan_, -0.0});
  Tensor y = cast(x, BP_DTYPE_F4E2M1FN);
  EXPECT_EQ(y.bytes, (Bytes{0x10, 0x2A, 0x64, 0x0F, 0x08}));
  Tensor back = cast(y, BP_DTYPE_F32);
  const double numbers[] = {0, 0.5, -1, 1, 2, 4, -6, 0, 0};
  for (int64_t i = 0; i < 9; ++i)
    EXPECT_EQ(back.f(i), numbers[i]) << i;
  EXPECT_TRUE(std::signbit(back.f(8)));
}

TEST(Cast, RoundsOnce) {
  // Just above a tie of f8; f32 would round it onto the tie.
  Tensor x = Tensor::floats(BP_DTYPE_F64, {1}, {1.0625 + 0x1p-40});
  EXPECT_EQ(cast(x, BP_DTYPE_F8E4M3FN).f(0), 1.125);
}
