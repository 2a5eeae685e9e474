// SPDX-License-Identifier: Apache-2.0
#include "hal/runtime/Repeats.h"

#include <gtest/gtest.h>

using namespace backplane::rt;

namespace {

/// "2 × ab, c" for the letters of `text`, each an item.
std::string blocks(const std::string &text) {
  std::vector<std::string> items;
  for (char c : text)
    items.emplace_back(1, c);
  std::string out;
  for (const Block &block : blocksOf(items)) {
    out += out.empty() ? "" : ", ";
    if (block.count > 1)
      out += std::to_string(block.count) + " × ";
    out += text.substr(block.first, block.length);
  }
  return out;
}

TEST(Repeats, NothingRepeats) {
  EXPECT_EQ(blocks(""), "");
  EXPECT_EQ(blocks("abc"), "a, b, c");
}

TEST(Repeats, LayersAreOneBlock) {
  EXPECT_EQ(blocks("xabcabcabcy"), "x, 3 × abc, y");
  EXPECT_EQ(blocks("aaaa"), "4 × a");
  EXPECT_EQ(blocks("ababa"), "2 × ab, a");
}

TEST(Repeats, TheLongerBlockWins) {
  EXPECT_EQ(blocks("aabaabaab"), "3 × aab");
  EXPECT_EQ(blocks("aabcaabc"), "2 × aabc");
}

TEST(Repeats, ALongChainIsFolded) {
  std::string chain;
  for (int i = 0; i < 20000; ++i)
    chain += "abcdefg";
  EXPECT_EQ(blocks(chain), "20000 × abcdefg");
}

} // namespace
