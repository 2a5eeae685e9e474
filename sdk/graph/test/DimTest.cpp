// SPDX-License-Identifier: Apache-2.0
#include "sdk/graph/Dim.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <random>

using namespace backplane;

namespace {

Dim P(std::string_view text) {
  Result<Dim> dim = Dim::parse(text);
  EXPECT_TRUE(dim.ok()) << dim.message();
  return dim.ok() ? *dim : Dim(-12345);
}

TEST(Dim, FindsEqualPolynomials) {
  EXPECT_EQ(P("(n + 1)*(n - 1)"), P("n*n - 1"));
  EXPECT_EQ(P("n*m"), P("m*n"));
  EXPECT_EQ(P("n - n"), Dim(0));
  EXPECT_EQ(P("2*n + 3*n - 5*n + 7").constant(), 7);
  EXPECT_NE(P("n"), P("m"));
  EXPECT_EQ(Dim::symbol("n").symbolName(), "n");
  EXPECT_EQ(P("2*n").symbolName(), std::nullopt);
}

TEST(Dim, DividesWhatIsEven) {
  const char *equal[][2] = {
      {"(2*n) floordiv 2", "n"},
      {"n floordiv 1", "n"},
      {"(n*a + b) floordiv a", "n + b floordiv a"},
      {"(n*a) floordiv a", "n"},
      {"(6*n*m) floordiv (2*n)", "3*m"},
      {"(n*m + m) floordiv (n + 1)", "m"},
      {"(4*n + 4) floordiv 8", "(n + 1) floordiv 2"},
      {"(4*n + 7) floordiv 8", "(n + 1) floordiv 2"},
      {"(n*4) mod 4", "0"},
      {"(n*a) mod a", "0"},
      {"(n + 8) mod 4", "n mod 4"},
      {"7 mod 4", "3"},
      {"-7 floordiv 2", "-4"},
      {"-7 mod 4", "1"},
      {"7 ceildiv 2", "4"},
      {"n ceildiv 4", "(n + 3) floordiv 4"},
      {"(4*n) ceildiv 4", "n"},
      {"(n*a) ceildiv a", "n"},
      {"((n + 1) floordiv 2 + 1) floordiv 2", "(n + 3) floordiv 4"},
      {"n floordiv 2 floordiv 3", "n floordiv 6"},
      {"4*(n floordiv 4) + n mod 4", "n"},
      {"(n - 1) floordiv 2 + 1", "(n + 1) floordiv 2"},
      {"n floordiv (0 - 2)", "(0 - n) floordiv 2"},
      {"n ceildiv (0 - 2)", "0 - n floordiv 2"},
  };
  for (auto &[a, b] : equal)
    EXPECT_EQ(P(a), P(b)) << a << " is " << P(a).str() << ", " << b << " is "
                          << P(b).str();
}

TEST(Dim, SimplifiesMinAndMax) {
  EXPECT_EQ(P("min(3, 5)"), Dim(3));
  EXPECT_EQ(P("max(3, 5)"), Dim(5));
  EXPECT_EQ(P("min(n, n)"), P("n"));
  EXPECT_EQ(P("min(n, n + 1)"), P("n"));
  EXPECT_EQ(P("max(n, n + 1)"), P("n + 1"));
  EXPECT_EQ(P("min(n, m)"), P("min(m, n)"));
  EXPECT_EQ(P("min(min(n, m), k)"), P("min(n, min(m, k))"));
  EXPECT_EQ(P("min(min(n, 5), 3)"), P("min(n, 3)"));
  EXPECT_NE(P("min(n, m)"), P("max(n, m)"));
}

TEST(Dim, DividesTowardsZero) {
  const char *equal[][2] = {
      {"truncdiv(-7, 2)", "-3"},
      {"truncdiv(7, -2)", "-3"},
      {"truncdiv(n, 2)", "n floordiv 2"},
      {"truncdiv(0 - n, 2)", "0 - n floordiv 2"},
      {"truncdiv(n, -2)", "0 - n floordiv 2"},
      {"truncdiv(4*n - 4*m, 4)", "n - m"},
      {"truncdiv(n - m, 1)", "n - m"},
  };
  for (auto &[a, b] : equal)
    EXPECT_EQ(P(a), P(b)) << a << " is " << P(a).str();
  EXPECT_EQ(P("truncdiv(n - m, 2)").str(), "truncdiv(-m + n, 2)");
  EXPECT_EQ(*P("truncdiv(n - m, 2)").evaluate({{"n", 1}, {"m", 6}}), -2);
  EXPECT_FALSE(P("truncdiv(n, m)").evaluate({{"n", 1}, {"m", 0}}).ok());
}

TEST(Dim, Compares) {
  EXPECT_EQ(P("less(n, n + 1)"), Dim(1));
  EXPECT_EQ(P("less(n, n)"), Dim(0));
  EXPECT_EQ(P("less(5, 3)"), Dim(0));
  EXPECT_EQ(P("equal(2*n, n + n)"), Dim(1));
  EXPECT_EQ(P("equal(n, n + 3)"), Dim(0));
  for (int64_t n : {0, 6, 7, 8, 100}) {
    SymbolValues symbols = {{"n", n}};
    EXPECT_EQ(*P("less(n, 7)").evaluate(symbols), n < 7);
    EXPECT_EQ(*P("equal(n, 7)").evaluate(symbols), n == 7);
  }
}

TEST(Dim, Chooses) {
  EXPECT_EQ(P("select(1, n, m)"), P("n"));
  EXPECT_EQ(P("select(0, n, m)"), P("m"));
  EXPECT_EQ(P("select(n, m, m)"), P("m"));
  Dim quotient = P("select(m, n floordiv m, 5)");
  EXPECT_EQ(*quotient.evaluate({{"n", 9}, {"m", 2}}), 4);
  EXPECT_EQ(*quotient.evaluate({{"n", 9}, {"m", 0}}), 5);
  EXPECT_EQ(quotient.substitute({{"m", 0}}), Dim(5));
  EXPECT_TRUE(P("select(n - 1, n, 3)").nonNegative());
  EXPECT_FALSE(P("select(n, n - 1, 3)").nonNegative());
}

TEST(Dim, KnowsWhatIsNotNegative) {
  EXPECT_TRUE(P("2*n + (m + 1) floordiv 2").nonNegative());
  EXPECT_TRUE(P("max(n - 5, 0)").nonNegative());
  EXPECT_TRUE(P("0").nonNegative());
  EXPECT_FALSE(P("n - 1").nonNegative());
  EXPECT_FALSE(P("-3").nonNegative());
  EXPECT_FALSE(P("min(n, m - 1)").nonNegative());
}

TEST(Dim, PrintsWhatItParses) {
  for (const char *text : {"0",
                           "-5",
                           "n",
                           "-n",
                           "2*n",
                           "n*m",
                           "n + 1",
                           "2*(h floordiv 32)",
                           "-(h floordiv 2) + 1",
                           "min(n, 4)",
                           "max(min(n, 4), m - 1)",
                           "(n + 3) floordiv 4",
                           "n floordiv m",
                           "-9223372036854775808",
                           "n floordiv (m + 1)",
                           "3 floordiv n",
                           "(-3) floordiv n",
                           "2*truncdiv(n - m, 3) + 1",
                           "truncdiv(n, 2) floordiv m",
                           "select(less(n, m), 2*n, select(m, 1, k))*n"}) {
    Dim dim = P(text);
    EXPECT_EQ(dim, P(dim.str())) << text << " -> " << dim.str();
  }
  EXPECT_EQ(P("2*(h floordiv 32)").str(), "2*(h floordiv 32)");
  EXPECT_EQ(P("1 + n").str(), "n + 1");
}

TEST(Dim, RefusesBadText) {
  for (const char *text : {"",
                           "n +",
                           "(n",
                           "n)",
                           "2n",
                           "n m",
                           "min(n)",
                           "min n",
                           "floordiv 2",
                           "9223372036854775808",
                           "n.x",
                           "a - - ",
                           "max(1, 2, 3)",
                           "n ? m",
                           "select(1, 2)",
                           "truncdiv(1)",
                           "less",
                           "equal(n, m",
                           "select + 1",
                           "99999999999*99999999999",
                           "\x80"})
    EXPECT_FALSE(Dim::parse(text).ok()) << text;
  EXPECT_FALSE(Dim::parse(std::string(70, '(') + "n" + std::string(70, ')')));
  EXPECT_FALSE(Dim::parse(std::string(70, '-') + "n"));
  EXPECT_TRUE(Dim::parse(std::string(60, '(') + "n" + std::string(60, ')')));
  EXPECT_FALSE(Dim::parse(std::string(5000, '1')));
  std::string blowUp = "n";
  for (int i = 0; i < 300; ++i)
    blowUp += "*(a" + std::to_string(i) + " + 1)";
  EXPECT_FALSE(Dim::parse(blowUp));
  std::string nested = "n";
  for (int i = 0; i < 200; ++i)
    nested = nested + " floordiv m" + std::to_string(i);
  EXPECT_FALSE(Dim::parse(nested.substr(0, 4000)));
}

/// `parts` of a text that repeats, cut to what parse reads.
std::string repeated(const std::function<std::string(int)> &part, int parts) {
  std::string text = "n";
  for (int i = 0; i < parts && text.size() < 3900; ++i)
    text += part(i);
  return text;
}

TEST(Dim, NoTextTakesLong) {
  auto number = [](int i) { return std::to_string(i); };
  std::vector<std::string> texts = {
      repeated([&](int i) { return "*(a" + number(i) + " + b)"; }, 400),
      repeated([&](int i) { return " + a" + number(i) + "*b" + number(i); },
               400),
      repeated([&](int i) { return "*(n + " + number(i) + ")"; }, 400),
      repeated([&](int i) { return " + (n*n + n) floordiv " + number(i + 2); },
               400),
      "(" + repeated([&](int i) { return " + a" + number(i); }, 120) + ")*(" +
          repeated([&](int i) { return " + b" + number(i); }, 120) + ")"};
  std::string halved = "n";
  for (int i = 0; i < 25; ++i)
    halved = "max(" + halved + " - " + number(i) + ", 0) floordiv 2";
  texts.push_back(halved);
  auto start = std::chrono::steady_clock::now();
  for (const std::string &text : texts)
    (void)Dim::parse(text);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Dim, KeepsOverflowInvalid) {
  Dim big = Dim(INT64_MAX) * Dim(2);
  EXPECT_FALSE(big.valid());
  EXPECT_FALSE((big - big).valid());
  EXPECT_FALSE(floorDiv(big, 2).valid());
  EXPECT_FALSE(min(big, 2).valid());
  EXPECT_FALSE(ceilDiv(Dim::symbol("n"), big).valid());
  EXPECT_FALSE(big.evaluate({}).ok());
  EXPECT_FALSE(Dim::symbol("not a name").valid());
  EXPECT_FALSE(Dim::symbol("floordiv").valid());
  EXPECT_TRUE(floorDiv(Dim(INT64_MIN), 3).valid());
  EXPECT_FALSE(floorDiv(Dim(INT64_MIN), -1).valid());
}

TEST(Dim, ReportsFailuresOfEvaluate) {
  EXPECT_EQ(P("n").evaluate({}).code(), BP_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(P("n floordiv 0").evaluate({{"n", 1}}).code(),
            BP_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(P("3 floordiv n").evaluate({{"n", 0}}).code(),
            BP_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(P("n*n").evaluate({{"n", INT64_MAX}}).code(),
            BP_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(P("n + 1").evaluate({{"n", INT64_MAX}}).code(),
            BP_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(*P("n + 1").evaluate({{"n", 4}}), 5);
}

TEST(Dim, Substitutes) {
  EXPECT_EQ(P("2*n + m").substitute({{"n", P("m + 1")}}), P("3*m + 2"));
  EXPECT_EQ(P("n floordiv 2").substitute({{"n", P("2*k")}}), P("k"));
  EXPECT_EQ(P("min(n, m)").substitute({{"m", P("n")}}), P("n"));
  std::set<std::string> names;
  P("a*b + min(c, d floordiv e)").collectSymbols(names);
  EXPECT_EQ(names, (std::set<std::string>{"a", "b", "c", "d", "e"}));
}

/// A random expression: the dim that our operators make, beside what plain
/// integer arithmetic says.
class Generator {
public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  struct Pair {
    Dim dim;
    std::optional<int64_t> value; ///< none: not defined
  };

  SymbolValues symbols = {
      {"a", pick(1, 9)}, {"b", pick(1, 40)}, {"c", pick(1, 7)}};

  Pair make(int depth) {
    if (depth == 0)
      return leaf();
    Pair x = make(pick(0, depth - 1)), y = make(pick(0, depth - 1));
    if (!x.value || !y.value)
      return {};
    switch (pick(0, 11)) {
    case 0:
      return {x.dim + y.dim, *x.value + *y.value};
    case 1:
      return {x.dim - y.dim, *x.value - *y.value};
    case 2:
      return {x.dim * y.dim, *x.value * *y.value};
    case 3:
      return {min(x.dim, y.dim), std::min(*x.value, *y.value)};
    case 4:
      return {max(x.dim, y.dim), std::max(*x.value, *y.value)};
    case 5:
      return {less(x.dim, y.dim), *x.value < *y.value};
    case 6:
      return {equal(x.dim, y.dim), *x.value == *y.value};
    case 7:
      return {select(x.dim, y.dim, x.dim + Dim(1)), *x.value ? *y.value : 1};
    case 8:
      return *y.value == 0 ? Pair()
                           : Pair{truncDiv(x.dim, y.dim), *x.value / *y.value};
    default:
      return divide(x, y);
    }
  }

private:
  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() %
                                      static_cast<uint32_t>(high - low + 1));
  }

  Pair leaf() {
    const char *names[] = {"a", "b", "c"};
    if (pick(0, 2) == 0) {
      int64_t value = pick(-6, 12);
      return {Dim(value), value};
    }
    const char *name = names[pick(0, 2)];
    return {Dim::symbol(name), symbols.find(name)->second};
  }

  Pair divide(const Pair &x, const Pair &y) {
    if (*y.value <= 0)
      return {};
    auto floor = [](int64_t p, int64_t q) {
      return p / q - (p % q < 0 ? 1 : 0);
    };
    switch (pick(0, 2)) {
    case 0:
      return {floorDiv(x.dim, y.dim), floor(*x.value, *y.value)};
    case 1:
      return {ceilDiv(x.dim, y.dim), -floor(-*x.value, *y.value)};
    default:
      return {mod(x.dim, y.dim),
              *x.value - *y.value * floor(*x.value, *y.value)};
    }
  }

  std::mt19937 random_;
};

TEST(Dim, AgreesWithPlainArithmetic) {
  int compared = 0;
  for (uint32_t seed = 0; seed < 40000; ++seed) {
    Generator generator(seed);
    auto [dim, value] = generator.make(static_cast<int>(seed % 6));
    if (!value || !dim.valid())
      continue;
    // A divisor may be 0 for these symbols in a part that canonicalisation
    // moved; that is an error of evaluate, never another value.
    Result<int64_t> found = dim.evaluate(generator.symbols);
    if (!found)
      continue;
    ++compared;
    ASSERT_EQ(*found, *value) << "seed " << seed << ": " << dim.str();
    Result<Dim> again = Dim::parse(dim.str());
    ASSERT_TRUE(again.ok()) << again.message();
    ASSERT_EQ(*again, dim) << "seed " << seed << ": " << again->str();
    std::map<std::string, Dim, std::less<>> values;
    for (const auto &[name, number] : generator.symbols)
      values[name] = number;
    ASSERT_EQ(dim.substitute(values).constant(), *value) << "seed " << seed;
    SymbolRanges ranges;
    for (const auto &[name, number] : generator.symbols)
      ranges[name] = {number - seed % 3, number + seed % 5};
    if (auto bounds = dim.bounds(ranges)) {
      ASSERT_LE(bounds->low, *value) << "seed " << seed << ": " << dim.str();
      ASSERT_GE(bounds->high, *value) << "seed " << seed << ": " << dim.str();
    }
  }
  EXPECT_GT(compared, 20000);
}

TEST(Dim, KnowsItsBounds) {
  SymbolRanges ranges = {{"n", {1, 10}}, {"m", {0, 7}}, {"z", {-2, 3}}};
  auto expect = [&](std::string_view text, int64_t low, int64_t high) {
    auto bounds = P(text).bounds(ranges);
    ASSERT_TRUE(bounds) << text;
    EXPECT_EQ(bounds->low, low) << text;
    EXPECT_EQ(bounds->high, high) << text;
  };
  expect("12", 12, 12);
  expect("4*n*m", 0, 280);
  expect("4*n - 4*m", -24, 40);
  expect("64*(n ceildiv 4)", 64, 192);
  expect("min(n, m) + max(n, 3)", 3, 17);
  expect("z*n", -20, 30);
  expect("100 floordiv n", 10, 100);
  EXPECT_FALSE(P("4*other").bounds(ranges));
  expect("truncdiv(z, 2)", -1, 1);
  expect("select(n, z, m)", -2, 3);
  expect("select(z, n, m)", 0, 10);
  // A part times its size is the whole at most.
  expect("4*m*(100 floordiv max(1, m))", 0, 400);
  expect("2*m*n*(n floordiv max(1, 3*m))", 0, 60);
  expect("m*n*(100 floordiv max(1, m*n))", 0, 100);
  expect("m*(100 floordiv max(2, m))", 0, 350);
  expect("z*(100 floordiv max(1, z))", -200, 300);
  EXPECT_FALSE(P("n floordiv m").bounds(ranges));
  ranges["n"] = {0, INT64_MAX};
  EXPECT_FALSE(P("4*n").bounds(ranges));
  EXPECT_FALSE(P("n + m").bounds(ranges));
  expect("m + 1", 1, 8);
}

} // namespace
