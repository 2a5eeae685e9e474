// SPDX-License-Identifier: Apache-2.0
#include "sdk/kernels/SplitAxis.h"
#include "sdk/graph/Decompose.h"
#include "sdk/kernels/RegisteredKernel.h"

#include <gtest/gtest.h>

using namespace backplane;

namespace {

/// The graph with two first axes; none: it cannot have them.
std::optional<SplitGraph> split(const std::string &body) {
  auto text =
      parseKernelText("kernel k version 1 {\nsymbol m, n, k\n" + body + "\n}");
  EXPECT_TRUE(text) << text.message();
  auto primitives =
      decompose(text->graphs.at(0).graph, [](const Op &) { return false; });
  EXPECT_TRUE(primitives) << primitives.message();
  return splitFirstAxis(*primitives, 1);
}

std::string typeOfOutput(const std::string &body) {
  auto result = split(body);
  EXPECT_TRUE(result) << body;
  if (!result)
    return {};
  EXPECT_EQ(result->symbol, "m");
  EXPECT_EQ(result->product, Dim::symbol("m_0") * Dim::symbol("m_1"));
  return result->graph.type(result->graph.outputs[0].value).str();
}

TEST(SplitAxisTest, OpsOnEachRow) {
  EXPECT_EQ(typeOfOutput("%x = input f32[m, k]\n%w = input f32[k, n]\n"
                         "%y = matmul(%x, %w)\n%z = softmax(%y) {axis = 1}\n"
                         "output %z"),
            "f32[m_0, m_1, n]");
  EXPECT_EQ(typeOfOutput("%x = input f32[m, n, k]\n%w = input f32[m, k, n]\n"
                         "%y = matmul(%x, %w)\n%r = reduce(%y) {axes = [2], "
                         "kind = \"sum\"}\noutput %r"),
            "f32[m_0, m_1, n]");
  EXPECT_EQ(typeOfOutput("%x = input f32[m, n, k]\n"
                         "%t = transpose(%x) {permutation = [0, 2, 1]}\n"
                         "%j = concat(%t, %t) {axis = 2}\noutput %j"),
            "f32[m_0, m_1, k, 2*n]");
  EXPECT_EQ(typeOfOutput("%x = input f32[m]\n%b = broadcast(%x) "
                         "{dims = [m, n], axes = [0]}\n"
                         "%c = constant() {value = 1, dtype = f32, dims = "
                         "[m, n]}\n%y = add(%b, %c)\noutput %y"),
            "f32[m_0, m_1, n]");
  EXPECT_EQ(typeOfOutput("%x = input f32[m, n, k]\n"
                         "%y = reshape(%x) {dims = [m, n * k]}\noutput %y"),
            "f32[m_0, m_1, k*n]");
}

TEST(SplitAxisTest, NotOpsOnAllRows) {
  for (const char *body :
       {"%x = input f32[m, n]\n%y = softmax(%x) {axis = 0}\noutput %y",
        "%x = input f32[m, n]\n%w = input f32[m, n]\n"
        "%t = transpose(%w) {permutation = [1, 0]}\n%y = matmul(%x, %t)\n"
        "output %y",
        "%x = input f32[m, n]\n%t = transpose(%x) {permutation = [1, 0]}\n"
        "%u = exp(%t)\n%v = transpose(%u) {permutation = [1, 0]}\noutput %v",
        "%x = input f32[m, n]\n%y = concat(%x, %x) {axis = 0}\noutput %y",
        "%x = input f32[m, n]\n%y = cumulative(%x) {axis = 0, kind = \"sum\"}\n"
        "output %y",
        "%x = input f32[8, n]\n%y = exp(%x)\noutput %y"})
    EXPECT_FALSE(split(body)) << body;
}

/// Its own symbols keep their names.
TEST(SplitAxisTest, NoNameIsTakenTwice) {
  EXPECT_FALSE(split("symbol m_0\n%x = input f32[m, m_0]\n%y = exp(%x)\n"
                     "output %y"));
}

} // namespace
