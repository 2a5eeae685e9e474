// SPDX-License-Identifier: Apache-2.0
#include "sdk/kernels/FixSize.h"
#include "sdk/graph/Decompose.h"
#include "sdk/kernels/RegisteredKernel.h"

#include <gtest/gtest.h>

using namespace backplane;

namespace {

Graph read(const std::string &body) {
  auto text =
      parseKernelText("kernel k version 1 {\nsymbol m, n\n" + body + "\n}");
  EXPECT_TRUE(text) << text.message();
  return text ? text->graphs.at(0).graph : Graph();
}

std::optional<std::string> computed(const Graph &graph) {
  auto primitives = decompose(graph, [](const Op &) { return false; });
  EXPECT_TRUE(primitives) << primitives.message();
  return computedSymbol(*primitives);
}

constexpr const char *norm = "%x = input f32[m, n]\n%g = input f32[n]\n"
                             "%y = layer_norm(%x, %g, %g) {axis = 1}\n"
                             "output %y";

TEST(FixSizeTest, ASizeInThePlaceOfTheSymbolThatIsComputedWith) {
  Graph graph = read(norm);
  EXPECT_EQ(computed(graph), "n");
  auto fixed = fixSymbol(graph, "n", 48);
  ASSERT_TRUE(fixed);
  EXPECT_EQ(fixed->type(fixed->outputs[0].value).str(), "f32[m, 48]");
  ASSERT_EQ(fixed->symbols.size(), 1u);
  EXPECT_EQ(fixed->symbols[0].name, "m");
  EXPECT_FALSE(computed(*fixed));
}

TEST(FixSizeTest, NoSymbolOrSeveral) {
  EXPECT_FALSE(computed(read("%x = input f32[m, n]\n%y = exp(%x)\noutput %y")));
  EXPECT_FALSE(computed(
      read("%x = input f32[m, n]\n%y = layer_norm(%x, %x, %x) {axis = 0}\n"
           "output %y")));
}

TEST(FixSizeTest, RefusesASizeThatTheGraphCannotHave) {
  Graph graph = read("%x = input f32[n]\n%y = slice(%x) {starts = [2], sizes = "
                     "[n - 2], strides = [1]}\noutput %y");
  EXPECT_TRUE(fixSymbol(graph, "n", 5));
  EXPECT_FALSE(fixSymbol(graph, "n", 1));
}

} // namespace
