// SPDX-License-Identifier: Apache-2.0
//
// Elementwise ops of integers and bool against formulas of plain integers.
#include "Elementwise.h"

using namespace reftest;

namespace {

using IntFunction =
    std::function<__int128(__int128 a, __int128 b, bp_dtype_t dtype)>;

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
  checkDirections<I>([](const char *direction, auto relation) {
    checkIntegers("compare", {{"direction", std::string(direction)}},
                  [=](I a, I b, bp_dtype_t) -> I { return relation(a, b); });
  });
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
