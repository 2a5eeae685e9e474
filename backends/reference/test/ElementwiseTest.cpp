// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops of floats against scalar formulas in long double, and what is
// the same for all dtypes.
#include "Elementwise.h"

using namespace reftest;

namespace {

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
  checkDirections<double>([](const char *direction, auto relation) {
    checkBinary(
        "compare", {{"direction", std::string(direction)}},
        [&](double a, double b) { return relation(a, b) ? 1.0L : 0.0L; }, 0);
  });
}

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

TEST(Elementwise, CompareStoredDtypes) {
  Attributes less = {{"direction", std::string("lt")}};
  for (bp_dtype_t dtype : storedTypes) {
    Tensor a = randomTensor(dtype, {33}, 1), b = randomTensor(dtype, {33}, 2);
    Tensor y = runOk("compare", {a, b}, less);
    for (int64_t i = 0; i < 33; ++i)
      EXPECT_EQ(y.i(i), isFloat(dtype) ? a.f(i) < b.f(i) : a.i(i) < b.i(i));
  }
}
