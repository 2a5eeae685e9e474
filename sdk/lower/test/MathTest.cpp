// SPDX-License-Identifier: Apache-2.0
//
// MathTest: the errors of the functions of bp-expand-math, in generated code,
// against long double. The limits are those of docs/reference/math.md, a
// little rounded up.
#include "sdk/emit/test/KernelHarness.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace backplane;
using namespace backplane::test;

namespace {

using Wide = long double;
using Reference = Wide (*)(Wide);

struct Case {
  const char *op;
  Reference reference;
  double limit32, limit64; ///< ULP
};

const Case cases[] = {
    {"exp", expl, 1, 1},
    {"expm1", expm1l, 1.5, 1.8},
    {"log", logl, 0.9, 0.6},
    {"log1p", log1pl, 1.5, 0.8},
    {"sin", sinl, 0.51, 0.8},
    {"cos", cosl, 0.51, 0.8},
    {"tan", tanl, 0.51, 2.2},
    {"asin", asinl, 2.3, 2.2},
    {"acos", acosl, 1.2, 1.2},
    {"atan", atanl, 1.5, 1.4},
    {"sinh", sinhl, 2, 2.4},
    {"cosh", coshl, 1.4, 1.4},
    {"asinh", asinhl, 2, 1.6},
    {"acosh", acoshl, 2, 2.5},
    {"atanh", atanhl, 2.1, 1.7},
    {"tanh", tanhl, 4.1, 1.8},
    {"erf", erfl, 1.2, 1},
    {"rsqrt", [](Wide x) { return 1 / sqrtl(x); }, 1.5, 1.5},
};

template <typename T> const char *typeName() {
  return sizeof(T) == 8 ? "f64" : "f32";
}

/// Random bits, the ranges where functions bend, multiples of pi / 2, and what
/// is special.
template <typename T> std::vector<T> inputs(unsigned seed, size_t count) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i) {
    Bits bits = Bits(random());
    T value;
    memcpy(&value, &bits, sizeof(value));
    values.push_back(value);
    for (double scale : {1e-3, 2.0, 10.0, 110.0, 800.0})
      values.push_back(T(unit(random) * scale));
    values.push_back(T(std::round(unit(random) * 1e5) * M_PI_2));
  }
  using Limits = std::numeric_limits<T>;
  for (T value : {T(0), T(1), T(88.72283), T(104), T(709.78), T(745.2),
                  Limits::infinity(), Limits::quiet_NaN(), Limits::min(),
                  Limits::denorm_min(), Limits::max()})
    for (T sign : {T(1), T(-1)})
      values.push_back(sign * value);
  return values;
}

/// Distance in units of the last place of `want` in the format of T. Infinite
/// when one is NaN, or a zero has the wrong sign.
template <typename T> double distance(T got, Wide want) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (std::isnan(got) || std::isnan(want))
    return std::isnan(got) && std::isnan(want) ? 0 : infinite;
  if (got == 0 && want == 0)
    return std::signbit(got) == std::signbit(want) ? 0 : infinite;
  if (Wide(got) == want)
    return 0;
  using Limits = std::numeric_limits<T>;
  int exponent = Limits::min_exponent - 1;
  if (want != 0 && std::isfinite(want))
    exponent = std::max(exponent, std::ilogb(want));
  Wide unit = ldexpl(1, exponent - Limits::digits + 1);
  bool overflows = std::isinf(got) && fabsl(want) + unit > Limits::max();
  if (overflows && std::signbit(got) == std::signbit(want))
    return 0;
  return double(fabsl(Wide(got) - want) / unit);
}

/// Ops one after the other, each on the result of the one before it; the first
/// one may have two operands.
std::unique_ptr<Kernel> compileOps(std::initializer_list<const char *> ops,
                                   const char *type, bool isBinary) {
  std::string tensor = "tensor<?x" + std::string(type) + ", #bp.dims<[\"n\"]>>";
  std::string text = "func.func @kernel(%x: " + tensor +
                     (isBinary ? ", %y: " + tensor : "") + ") -> " + tensor +
                     " attributes {bp.dispatch, bp.symbols = [\"n\"]} {\n";
  std::string operands = isBinary ? "%x, %y" : "%x", last;
  std::string types = isBinary ? tensor + ", " + tensor : tensor;
  for (const char *op : ops) {
    last = "%r" + std::to_string(text.size());
    text += "  " + last + " = bp." + op + " " + operands + " : (" + types +
            ") -> " + tensor + "\n";
    operands = last;
    types = tensor;
  }
  text += "  return " + last + " : " + tensor + "\n}\n";
  const Isa isa = ownIsas().back();
  return Kernel::compile(text, hostTarget(isa), fastStages(isa));
}

/// The ops over all elements.
template <typename T>
std::vector<T> apply(std::initializer_list<const char *> ops,
                     std::vector<std::vector<T>> operands) {
  auto kernel = compileOps(ops, typeName<T>(), operands.size() == 2);
  if (!kernel)
    return {};
  std::vector<T> result(operands[0].size());
  std::vector<void *> bindings;
  for (std::vector<T> &operand : operands)
    bindings.push_back(operand.data());
  bindings.push_back(result.data());
  kernel->run(bindings, {{"n", int64_t(result.size())}});
  return result;
}

template <typename T> void checkUnary(const Case &c, double limit) {
  std::vector<T> x = inputs<T>(1, 20000);
  std::vector<T> got = apply<T>({c.op}, {x});
  ASSERT_EQ(got.size(), x.size()) << c.op << " does not compile";
  size_t worst = 0;
  double error = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double next = distance(got[i], c.reference(x[i]));
    if (next <= error)
      continue;
    error = next;
    worst = i;
  }
  EXPECT_LE(error, limit) << c.op << " " << typeName<T>() << "(" << x[worst]
                          << ") gives " << got[worst];
}

template <typename T> void checkPow(double limit) {
  std::vector<T> x = inputs<T>(2, 4000), y = inputs<T>(3, 4000);
  const T special[] = {0,        T(-0.0),   1,      -1,      2,
                       -2,       3,         T(0.5), T(-0.5), INFINITY,
                       T(1e-42), -INFINITY, NAN,    T(7e8)};
  for (T a : special)
    for (T b : special) {
      x.push_back(a);
      y.push_back(b);
    }
  // Up to the ends of the range, where an error of the logarithm counts most.
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> unit(-1, 1);
  double end = std::log(double(std::numeric_limits<T>::max()));
  for (size_t i = 0; i < 4000; ++i) {
    x.push_back(T(std::exp2(unit(random) * (i % 2 ? 0.5 : 20))));
    y.push_back(T(unit(random) * end / std::log(double(x.back()))));
  }
  std::vector<T> got = apply<T>({"pow"}, {x, y});
  ASSERT_EQ(got.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_LE(distance(got[i], powl(x[i], y[i])), limit)
        << x[i] << " to the " << y[i] << " gives " << got[i];
}

/// exp of what cannot be above 0, down to the subnormals.
template <typename T> void checkDecay(double limit) {
  std::vector<T> x = inputs<T>(5, 20000);
  std::vector<T> got = apply<T>({"abs", "neg", "exp"}, {x});
  ASSERT_EQ(got.size(), x.size());
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_LE(distance(got[i], expl(-fabsl(x[i]))), limit)
        << "exp(-abs(" << x[i] << ")) gives " << got[i];
}

bool canRun() { return hasIsa(ownIsas().back()); }

class MathTest : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    if (!canRun())
      GTEST_SKIP() << "this machine has no fused products";
  }
};

class OpsTest : public testing::Test {
protected:
  void SetUp() override {
    if (!canRun())
      GTEST_SKIP() << "this machine has no fused products";
  }
};

TEST_P(MathTest, F32) { checkUnary<float>(GetParam(), GetParam().limit32); }
TEST_P(MathTest, F64) { checkUnary<double>(GetParam(), GetParam().limit64); }

INSTANTIATE_TEST_SUITE_P(All, MathTest, testing::ValuesIn(cases),
                         [](const auto &info) {
                           return std::string(info.param.op);
                         });

TEST_F(OpsTest, PowF32) { checkPow<float>(0.51); }
TEST_F(OpsTest, PowF64) { checkPow<double>(1.6); }
TEST_F(OpsTest, DecayF32) { checkDecay<float>(1); }
TEST_F(OpsTest, DecayF64) { checkDecay<double>(1); }

} // namespace
