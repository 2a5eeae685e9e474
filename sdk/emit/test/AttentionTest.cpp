// SPDX-License-Identifier: Apache-2.0
//
// Attention in one dispatch against plain loops: operands in the order of a
// model, heads of keys that several heads of queries share, a mask, sizes
// around the edges of blocks, and any number of threads.
#include "sdk/emit/test/KernelHarness.h"

#include <gtest/gtest.h>

#include <limits>

using namespace backplane;
using namespace backplane::test;

namespace {

/// tensor<…xf32> with its dims.
std::string type(const std::vector<std::string> &dims) {
  std::string shape, list;
  for (const std::string &dim : dims) {
    bool isNumber = isdigit(static_cast<unsigned char>(dim[0])) != 0;
    shape += (isNumber ? dim : "?") + "x";
    list += (list.empty() ? "\"" : ", \"") + dim + "\"";
  }
  return "tensor<" + shape + "f32, #bp.dims<[" + list + "]>>";
}

std::string dimsOf(const std::vector<std::string> &dims) {
  std::string text = type(dims);
  return text.substr(text.find('#'), text.size() - text.find('#') - 1);
}

/// `name`, of two heads that two heads of queries share each, as four heads.
std::string shared(const std::string &name, const std::string &size) {
  std::string from = type({"2", "t", "2", size}),
              to = type({"2", "2", "t", size});
  std::vector<std::string> wide = {"2", "2", "2", "t", size};
  std::vector<std::string> all = {"2", "4", "t", size};
  return "  %" + name + "1 = bp.transpose %" + name +
         " {permutation = array<i64: 0, 2, 1, 3>} : (" + from + ") -> " + to +
         "\n  %" + name + "2 = bp.broadcast %" + name +
         "1 {dims = " + dimsOf(wide) + ", axes = array<i64: 0, 1, 3, 4>} : (" +
         to + ") -> " + type(wide) + "\n  %" + name + "3 = bp.reshape %" +
         name + "2 {dims = " + dimsOf(all) + "} : (" + type(wide) + ") -> " +
         type(all) + "\n";
}

std::string attentionText() {
  std::string q = type({"2", "s", "4", "16"}),
              heads = type({"2", "4", "s", "16"});
  std::string k = type({"2", "t", "2", "16"}), v = type({"2", "t", "2", "9"});
  std::string keys = type({"2", "4", "t", "16"}),
              values = type({"2", "4", "t", "9"});
  std::vector<std::string> square = {"2", "4", "s", "t"};
  std::string mask = type({"2", "1", "s", "t"}), x = type(square);
  std::string row = type({"2", "4", "s", "1"}),
              out = type({"2", "4", "s", "9"});
  std::string result = type({"2", "s", "4", "9"}),
              binary = "(" + x + ", " + x + ") -> " + x;
  std::string repeat =
      " {dims = " + dimsOf(square) + ", axes = array<i64: 0, 1, 2, 3>} : (";
  std::string along =
      ", axes = array<i64: 3>, keep = true} : (" + x + ") -> " + row + "\n";
  return "func.func @attention(%q: " + q + ", %k: " + k + ", %v: " + v +
         ", %mask: " + mask + ") -> " + result +
         " attributes {bp.dispatch, bp.symbols = [\"s\", \"t\"]} {\n"
         "  %q1 = bp.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (" +
         q + ") -> " + heads + "\n" + shared("k", "16") + shared("v", "9") +
         "  %scores = bp.matmul %q1, %k3 {transpose_b = true} : (" + heads +
         ", " + keys + ") -> " + x +
         "\n"
         "  %masks = bp.broadcast %mask" +
         repeat + mask + ") -> " + x +
         "\n"
         "  %x = bp.add %scores, %masks : " +
         binary +
         "\n"
         "  %top = bp.reduce %x {kind = \"max\"" +
         along + "  %tops = bp.broadcast %top" + repeat + row + ") -> " + x +
         "\n"
         "  %below = bp.sub %x, %tops : " +
         binary +
         "\n"
         "  %exp = bp.exp %below : (" +
         x + ") -> " + x +
         "\n"
         "  %sum = bp.reduce %exp {kind = \"sum\"" +
         along + "  %sums = bp.broadcast %sum" + repeat + row + ") -> " + x +
         "\n"
         "  %w = bp.div %exp, %sums : " +
         binary +
         "\n"
         "  %y = bp.matmul %w, %v3 : (" +
         x + ", " + values + ") -> " + out +
         "\n"
         "  %r = bp.transpose %y {permutation = array<i64: 0, 2, 1, 3>} : (" +
         out + ") -> " + result +
         "\n"
         "  return %r : " +
         result + "\n}\n";
}

/// One head of `size` queries and as many keys, of known sizes.
std::string knownText(int64_t size) {
  std::string s = std::to_string(size);
  std::string q = "tensor<" + s + "x40xf32>",
              x = "tensor<" + s + "x" + s + "xf32>",
              row = "tensor<" + s + "x1xf32>";
  std::string repeat = " {dims = " + dimsOf({s, s}) +
                       ", axes = array<i64: 0, 1>} : (" + row + ") -> " + x;
  std::string along =
      ", axes = array<i64: 1>, keep = true} : (" + x + ") -> " + row + "\n";
  std::string binary = " : (" + x + ", " + x + ") -> " + x + "\n";
  return "func.func @known(%q: " + q + ", %k: " + q + ", %v: " + q + ") -> " +
         q +
         " attributes {bp.dispatch, bp.symbols = []} {\n"
         "  %x = bp.matmul %q, %k {transpose_b = true} : (" +
         q + ", " + q + ") -> " + x +
         "\n  %top = bp.reduce %x {kind = \"max\"" + along +
         "  %tops = bp.broadcast %top" + repeat +
         "\n  %below = bp.sub %x, %tops" + binary +
         "  %exp = bp.exp %below : (" + x + ") -> " + x +
         "\n  %sum = bp.reduce %exp {kind = \"sum\"" + along +
         "  %sums = bp.broadcast %sum" + repeat +
         "\n  %w = bp.div %exp, %sums" + binary +
         "  %y = bp.matmul %w, %v : (" + x + ", " + q + ") -> " + q +
         "\n  return %y : " + q + "\n}\n";
}

class Attention : public testing::TestWithParam<Isa> {};

/// Hides all columns of the second row of each mask.
void hideRow(Buffers &buffers, int64_t s, int64_t t) {
  auto *mask = reinterpret_cast<float *>(buffers.storage[3].data());
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t i = 0; i < t; ++i)
      mask[(b * s + 1) * t + i] = -std::numeric_limits<float>::infinity();
}

} // namespace

TEST_P(Attention, IsThatOfPlainLoops) {
  if (!hasIsa(GetParam()))
    GTEST_SKIP() << "this CPU lacks the instructions";
  EmitTarget target = hostTarget(GetParam());
  auto plain = Kernel::compile(attentionText(), target, plainStages());
  auto fast = Kernel::compile(attentionText(), target, fastStages(GetParam()));
  ASSERT_TRUE(plain && fast);
  EXPECT_NE(fast->entry().grid[0], "1") << "not distributed";
  const std::pair<int64_t, int64_t> sizes[] = {{1, 1},  {1, 40},  {7, 17},
                                               {65, 3}, {64, 64}, {130, 530}};
  for (auto [s, t] : sizes) {
    SymbolValues symbols{{"s", s}, {"t", t}};
    Buffers a(plain->bindings(), symbols, 3), b(fast->bindings(), symbols, 3),
        c(fast->bindings(), symbols, 3);
    if (s == 7)
      for (Buffers *buffers : {&a, &b, &c})
        hideRow(*buffers, s, t);
    plain->run(a.pointers(), symbols);
    fast->run(b.pointers(), symbols, 1);
    fast->run(c.pointers(), symbols, 3);
    EXPECT_LT(compareOutputs(fast->bindings(), a, b, symbols), 1e-5)
        << s << " by " << t;
    EXPECT_EQ(b.storage.back(), c.storage.back()) << s << " by " << t;
  }
}

/// Groups of rows end inside of tiles, as many of which the whole has.
TEST_P(Attention, OfKnownSizesIsThatOfPlainLoops) {
  if (!hasIsa(GetParam()))
    GTEST_SKIP() << "this CPU lacks the instructions";
  EmitTarget target = hostTarget(GetParam());
  for (int64_t size : {84, 140, 252}) {
    auto plain = Kernel::compile(knownText(size), target, plainStages());
    auto fast =
        Kernel::compile(knownText(size), target, fastStages(GetParam()));
    ASSERT_TRUE(plain && fast);
    Buffers a(plain->bindings(), {}, 3), b(fast->bindings(), {}, 3);
    plain->run(a.pointers(), {});
    fast->run(b.pointers(), {}, 1);
    EXPECT_LT(compareOutputs(fast->bindings(), a, b, {}), 1e-5) << size;
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, Attention, testing::ValuesIn(ownIsas()));
