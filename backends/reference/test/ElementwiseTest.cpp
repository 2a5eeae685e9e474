// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops against scalar formulas in long double and plain integers.
#include "Harness.h"

#include <cmath>
#include <functional>
#include <limits>

using namespace reftest;

namespace {

const double inf = std::numeric_limits<double>::infinity();
const double nan_ = std::numeric_limits<double>::quiet_NaN();

std::vector<double> interesting() {
  std::vector<double> values = {0.0,  -0.0, 1.0,    -1.0,   0.5,  -0.5, 1.5,
                                2.5,  -2.5, 3.75,   -7.25,  1e-3, 20,   -20,
                                inf,  -inf, nan_,   65504,  1e-8, 3e-5, 100,
                                -100, 0.1,  5.9e-8, 6.1e-5, 2e30, -2e30};
  std::mt19937 random(7);
  while (values.size() < 600)
    values.push_back(double(random()) / 4294967296.0 * 12 - 6);
  return values;
}

/// Checks a unary op for all float dtypes within `limit` ulps.
void checkUnary(const std::string &op,
                const std::function<long double(long double)> &expect,
                double limit) {
  for (bp_dtype_t dtype : floatTypes) {
    std::vector<double> values = interesting();
    Tensor x = Tensor::floats(dtype, {int64_t(values.size())}, values);
    Tensor y = runOk(op, {x});
    ASSERT_EQ(y.dtype, dtype);
    for (int64_t i = 0; i < x.count(); ++i)
      EXPECT_LE(ulps(dtype, y.f(i), rounded(dtype, expect(x.f(i)))), limit)
          << op << "(" << x.f(i) << ") of dtype " << dtype << " gives "
          << y.f(i) << ", expected " << double(expect(x.f(i)));
  }
}

void checkBinary(const std::string &op, const Attributes &attributes,
                 const std::function<long double(double, double)> &expect,
                 double limit) {
  std::vector<double> some = interesting();
  some.resize(40);
  for (bp_dtype_t dtype : floatTypes) {
    std::vector<double> left, right;
    for (double a : some)
      for (double b : some) {
        left.push_back(a);
        right.push_back(b);
      }
    Tensor a = Tensor::floats(dtype, {40, 40}, left);
    Tensor b = Tensor::floats(dtype, {40, 40}, right);
    Tensor y = runOk(op, {a, b}, attributes);
    for (int64_t i = 0; i < a.count(); ++i) {
      if (y.dtype == BP_DTYPE_BOOL) {
        EXPECT_EQ(y.i(i), int64_t(expect(a.f(i), b.f(i))))
            << op << "(" << a.f(i) << ", " << b.f(i) << ")";
        continue;
      }
      EXPECT_LE(ulps(dtype, y.f(i), rounded(dtype, expect(a.f(i), b.f(i)))),
                limit)
          << op << "(" << a.f(i) << ", " << b.f(i) << ") of dtype " << dtype
          << " gives " << y.f(i);
    }
  }
}

/// Edge values and random bits of an integer dtype.
std::vector<int64_t> integers(bp_dtype_t dtype) {
  std::vector<int64_t> values = {lowest(dtype),
                                 wrapped(dtype, lowest(dtype) + 1),
                                 wrapped(dtype, -1),
                                 0,
                                 1,
                                 2,
                                 7,
                                 highest(dtype),
                                 wrapped(dtype, highest(dtype) - 1)};
  std::mt19937_64 random(3);
  while (values.size() < 24)
    values.push_back(wrapped(dtype, int64_t(random())));
  return values;
}

using IntFunction =
    std::function<__int128(__int128 a, __int128 b, bp_dtype_t dtype)>;

/// The number that the bits of a stored integer mean.
__int128 meaning(const Tensor &tensor, int64_t index) {
  int64_t value = tensor.i(index);
  return tensor.dtype == BP_DTYPE_U64 ? __int128(uint64_t(value))
                                      : __int128(value);
}

void checkIntegers(const std::string &op, const Attributes &attributes,
                   const IntFunction &expect, bool divides = false) {
  for (bp_dtype_t dtype : intTypes) {
    std::vector<int64_t> left, right;
    for (int64_t a : integers(dtype))
      for (int64_t b : integers(dtype)) {
        if (divides && b == 0)
          continue;
        left.push_back(a);
        right.push_back(b);
      }
    int64_t count = int64_t(left.size());
    Tensor a = Tensor::ints(dtype, {count}, left);
    Tensor b = Tensor::ints(dtype, {count}, right);
    Tensor y = runOk(op, {a, b}, attributes);
    for (int64_t i = 0; i < count; ++i) {
      auto value = int64_t(expect(meaning(a, i), meaning(b, i), dtype));
      EXPECT_EQ(y.i(i),
                y.dtype == BP_DTYPE_BOOL ? value : wrapped(dtype, value))
          << op << "(" << a.i(i) << ", " << b.i(i) << ") of dtype " << dtype;
    }
  }
}

void checkIntegerUnary(const std::string &op, const IntFunction &expect) {
  for (bp_dtype_t dtype : intTypes) {
    std::vector<int64_t> values = integers(dtype);
    Tensor x = Tensor::ints(dtype, {int64_t(values.size())}, values);
    Tensor y = runOk(op, {x});
    for (int64_t i = 0; i < x.count(); ++i)
      EXPECT_EQ(y.i(i),
                wrapped(dtype, int64_t(expect(meaning(x, i), 0, dtype))))
          << op << "(" << x.i(i) << ") of dtype " << dtype;
  }
}

} // namespace

TEST(Elementwise, ExactFloatUnary) {
  checkUnary("neg", [](long double x) { return -x; }, 0);
  checkUnary("abs", [](long double x) { return std::fabs(x); }, 0);
  checkUnary("floor", [](long double x) { return std::floor(x); }, 0);
  checkUnary("ceil", [](long double x) { return std::ceil(x); }, 0);
  checkUnary("trunc", [](long double x) { return std::trunc(x); }, 0);
  checkUnary(
      "sign",
      [](long double x) {
        return std::isnan(x) || x == 0 ? x : std::copysign(1.0L, x);
      },
      0);
  checkUnary(
      "round_even",
      [](long double x) {
        if (!std::isfinite(x))
          return x;
        long double down = std::floor(x), gap = x - down;
        bool up = gap > 0.5L || (gap == 0.5L && std::fmod(down, 2.0L) != 0);
        return std::copysign(down + (up ? 1 : 0), x);
      },
      0);
}

TEST(Elementwise, RoundedFloatUnary) {
  checkUnary("sqrt", [](long double x) { return sqrtl(x); }, 0);
  checkUnary("recip", [](long double x) { return 1 / x; }, 0);
  checkUnary("rsqrt", [](long double x) { return 1 / sqrtl(x); }, 1);
  checkUnary("exp", [](long double x) { return expl(x); }, 1);
  checkUnary("log", [](long double x) { return logl(x); }, 1);
  checkUnary("log1p", [](long double x) { return log1pl(x); }, 1);
  checkUnary("expm1", [](long double x) { return expm1l(x); }, 1);
  checkUnary("sin", [](long double x) { return sinl(x); }, 1);
  checkUnary("cos", [](long double x) { return cosl(x); }, 1);
  checkUnary("tan", [](long double x) { return tanl(x); }, 1);
  checkUnary("atan", [](long double x) { return atanl(x); }, 1);
  checkUnary("asin", [](long double x) { return asinl(x); }, 1);
  checkUnary("acos", [](long double x) { return acosl(x); }, 1);
  checkUnary("sinh", [](long double x) { return sinhl(x); }, 2);
  checkUnary("cosh", [](long double x) { return coshl(x); }, 2);
  checkUnary("asinh", [](long double x) { return asinhl(x); }, 2);
  checkUnary("acosh", [](long double x) { return acoshl(x); }, 2);
  checkUnary("atanh", [](long double x) { return atanhl(x); }, 2);
  checkUnary("tanh", [](long double x) { return tanhl(x); }, 2);
  checkUnary("erf", [](long double x) { return erfl(x); }, 1);
}

TEST(Elementwise, IsNanIsInf) {
  for (bp_dtype_t dtype : floatTypes) {
    Tensor x = Tensor::floats(dtype, {5}, {inf, -inf, nan_, 0, 3});
    EXPECT_EQ(runOk("is_nan", {x}),
              Tensor::ints(BP_DTYPE_BOOL, {5}, {0, 0, 1, 0, 0}));
    EXPECT_EQ(runOk("is_inf", {x}),
              Tensor::ints(BP_DTYPE_BOOL, {5}, {1, 1, 0, 0, 0}));
  }
}

TEST(Elementwise, FloatBinary) {
  using L = long double;
  checkBinary("add", {}, [](double a, double b) { return L(a) + b; }, 0);
  checkBinary("sub", {}, [](double a, double b) { return L(a) - b; }, 0);
  checkBinary("mul", {}, [](double a, double b) { return L(a) * b; }, 0);
  checkBinary("div", {}, [](double a, double b) { return L(a) / b; }, 0);
  checkBinary("rem", {}, [](double a, double b) { return fmodl(a, b); }, 0);
  checkBinary("pow", {}, [](double a, double b) { return powl(a, b); }, 1);
}

TEST(Elementwise, FloatMinMax) {
  auto pick = [](double a, double b, bool lower) -> long double {
    if (std::isnan(a) || std::isnan(b))
      return NAN;
    if (a == 0 && b == 0)
      return (std::signbit(a) || std::signbit(b)) == lower ||
                     std::signbit(a) == std::signbit(b)
                 ? (lower ? (std::signbit(a) || std::signbit(b) ? -0.0 : 0.0)
                          : (std::signbit(a) && std::signbit(b) ? -0.0 : 0.0))
                 : 0.0;
    return (a < b) == lower ? a : b;
  };
  checkBinary(
      "min", {}, [&](double a, double b) { return pick(a, b, true); }, 0);
  checkBinary(
      "max", {}, [&](double a, double b) { return pick(a, b, false); }, 0);
  Tensor zeros = Tensor::floats(BP_DTYPE_F32, {4}, {0.0, -0.0, 0.0, -0.0});
  Tensor other = Tensor::floats(BP_DTYPE_F32, {4}, {0.0, -0.0, -0.0, 0.0});
  Tensor low = runOk("min", {zeros, other}),
         high = runOk("max", {zeros, other});
  EXPECT_EQ(low, Tensor::floats(BP_DTYPE_F32, {4}, {0.0, -0.0, -0.0, -0.0}));
  EXPECT_EQ(high, Tensor::floats(BP_DTYPE_F32, {4}, {0.0, -0.0, 0.0, 0.0}));
}

TEST(Elementwise, CompareFloats) {
  auto check = [](const char *direction, auto relation) {
    checkBinary(
        "compare", {{"direction", std::string(direction)}},
        [&](double a, double b) { return relation(a, b) ? 1.0L : 0.0L; }, 0);
  };
  check("eq", std::equal_to<double>());
  check("ne", std::not_equal_to<double>());
  check("lt", std::less<double>());
  check("le", std::less_equal<double>());
  check("gt", std::greater<double>());
  check("ge", std::greater_equal<double>());
}

TEST(Elementwise, IntegerArithmeticWraps) {
  using I = __int128;
  checkIntegers("add", {}, [](I a, I b, bp_dtype_t) { return a + b; });
  checkIntegers("sub", {}, [](I a, I b, bp_dtype_t) { return a - b; });
  checkIntegers("mul", {}, [](I a, I b, bp_dtype_t) {
    return I((unsigned __int128)a * (unsigned __int128)b);
  });
  checkIntegers("min", {}, [](I a, I b, bp_dtype_t) { return a < b ? a : b; });
  checkIntegers("max", {}, [](I a, I b, bp_dtype_t) { return a > b ? a : b; });
  checkIntegers("and", {}, [](I a, I b, bp_dtype_t) { return a & b; });
  checkIntegers("or", {}, [](I a, I b, bp_dtype_t) { return a | b; });
  checkIntegers("xor", {}, [](I a, I b, bp_dtype_t) { return a ^ b; });
  checkIntegerUnary("neg", [](I a, I, bp_dtype_t) { return -a; });
  checkIntegerUnary("abs", [](I a, I, bp_dtype_t) { return a < 0 ? -a : a; });
  checkIntegerUnary("not", [](I a, I, bp_dtype_t) { return ~a; });
}

TEST(Elementwise, IntegerDivision) {
  using I = __int128;
  auto quotient = [](I a, I b, bp_dtype_t) { return a / b; };
  auto remainder = [](I a, I b, bp_dtype_t) { return a % b; };
  checkIntegers("div", {}, quotient, true);
  checkIntegers("rem", {}, remainder, true);
}

TEST(Elementwise, Shifts) {
  using I = __int128;
  auto distance = [](I b, bp_dtype_t dtype) { // b as unsigned, at most 64
    I width = sizeOf(dtype) * 8;
    return int(b < 0 || b > width ? width : b);
  };
  checkIntegers("shl", {}, [=](I a, I b, bp_dtype_t dtype) {
    return I((unsigned __int128)a << distance(b, dtype));
  });
  checkIntegers("shr", {}, [=](I a, I b, bp_dtype_t dtype) {
    return a >> distance(b, dtype);
  });
  Tensor a = Tensor::ints(BP_DTYPE_I8, {6}, {-128, -1, 127, 1, 1, -2});
  Tensor b = Tensor::ints(BP_DTYPE_I8, {6}, {7, 100, 8, 7, -1, 1});
  EXPECT_EQ(runOk("shl", {a, b}),
            Tensor::ints(BP_DTYPE_I8, {6}, {0, 0, 0, -128, 0, -4}));
  EXPECT_EQ(runOk("shr", {a, b}),
            Tensor::ints(BP_DTYPE_I8, {6}, {-1, -1, 0, 0, 0, -1}));
}

TEST(Elementwise, CompareIntegers) {
  using I = __int128;
  auto check = [](const char *direction, auto relation) {
    checkIntegers("compare", {{"direction", std::string(direction)}},
                  [=](I a, I b, bp_dtype_t) -> I { return relation(a, b); });
  };
  check("eq", std::equal_to<I>());
  check("ne", std::not_equal_to<I>());
  check("lt", std::less<I>());
  check("le", std::less_equal<I>());
  check("gt", std::greater<I>());
  check("ge", std::greater_equal<I>());
}

TEST(Elementwise, DivisionByZeroFailsAndGivesZero) {
  for (const char *op : {"div", "rem"})
    for (bp_dtype_t dtype : intTypes) {
      Tensor a = Tensor::ints(dtype, {3}, {7, 7, 9});
      Tensor b = Tensor::ints(dtype, {3}, {2, 0, 5});
      Outcome outcome = runOp(op, {a, b});
      EXPECT_EQ(outcome.status, BP_STATUS_OUT_OF_RANGE);
      EXPECT_NE(outcome.message.find(op), std::string::npos);
      EXPECT_NE(outcome.message.find("divided by zero"), std::string::npos)
          << outcome.message;
      EXPECT_EQ(outcome.outputs[0].i(1), 0);
      EXPECT_EQ(outcome.outputs[0].i(2), op[0] == 'd' ? 1 : 4);
    }
}

TEST(Elementwise, Bool) {
  Tensor a = Tensor::ints(BP_DTYPE_BOOL, {4}, {0, 0, 1, 1});
  Tensor b = Tensor::ints(BP_DTYPE_BOOL, {4}, {0, 1, 0, 1});
  auto bools = [](std::vector<int64_t> values) {
    return Tensor::ints(BP_DTYPE_BOOL, {4}, values);
  };
  EXPECT_EQ(runOk("and", {a, b}), bools({0, 0, 0, 1}));
  EXPECT_EQ(runOk("or", {a, b}), bools({0, 1, 1, 1}));
  EXPECT_EQ(runOk("xor", {a, b}), bools({0, 1, 1, 0}));
  EXPECT_EQ(runOk("not", {a}), bools({1, 1, 0, 0}));
  Attributes less = {{"direction", std::string("lt")}};
  EXPECT_EQ(runOk("compare", {a, b}, less), bools({0, 1, 0, 0}));
}

// ---- cast ----

namespace {

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

// ---- shapes ----

TEST(Elementwise, RankZeroEmptyAndLarge) {
  for (Dims dims : {Dims{}, Dims{0}, Dims{3, 0, 2}, Dims{1025},
                    Dims{1, 2, 1, 3, 1, 2, 1, 43}}) {
    Tensor a = randomTensor(BP_DTYPE_F32, dims, 1);
    Tensor b = randomTensor(BP_DTYPE_F32, dims, 2);
    Tensor y = runOk("add", {a, b});
    ASSERT_EQ(y.dims, dims);
    for (int64_t i = 0; i < y.count(); ++i)
      EXPECT_EQ(y.f(i), rounded(BP_DTYPE_F32, a.f(i) + b.f(i)));
  }
}

TEST(Elementwise, Select) {
  for (bp_dtype_t dtype : allTypes)
    for (Dims dims : {Dims{}, Dims{0}, Dims{7, 5}}) {
      Tensor condition = randomTensor(BP_DTYPE_BOOL, dims, 1);
      Tensor a = randomTensor(dtype, dims, 2), b = randomTensor(dtype, dims, 3);
      Tensor y = runOk("select", {condition, a, b});
      unsigned size = sizeOf(dtype);
      for (size_t i = 0; i < y.bytes.size(); ++i)
        EXPECT_EQ(y.bytes[i], (condition.bytes[i / size] ? a : b).bytes[i]);
    }
}

// ---- f8, i4 and u4 ----

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

using Bytes = std::vector<uint8_t>;

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

TEST(Elementwise, CompareStoredDtypes) {
  Attributes less = {{"direction", std::string("lt")}};
  for (bp_dtype_t dtype : storedTypes) {
    Tensor a = randomTensor(dtype, {33}, 1), b = randomTensor(dtype, {33}, 2);
    Tensor y = runOk("compare", {a, b}, less);
    for (int64_t i = 0; i < 33; ++i)
      EXPECT_EQ(y.i(i), isFloat(dtype) ? a.f(i) < b.f(i) : a.i(i) < b.i(i));
  }
}
