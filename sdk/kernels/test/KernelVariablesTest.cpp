// SPDX-License-Identifier: Apache-2.0
//
// Variables of values: of attributes, and of the order in which axes are
// stored.
#include "sdk/kernels/RegisteredKernel.h"

#include <gtest/gtest.h>

using namespace backplane;

namespace {

constexpr const char *convolution = R"(kernel convolution version 1
where S in [[1, 1], [2, 2]], L in [[0, 1, 2, 3], [0, 2, 3, 1]]
{
  symbol c, h, w, o
  %x = input f32[1, c, h, w] layout L
  %w = input f32[o, c, 3, 3]
  %r = optional input f32[1, o, (h - 1) floordiv 2 + 1, w] layout L
  %y = conv(%x, %w) {strides = S, dilations = [1, 1], low = [1, 1], high = [1, 1], groups = 1}
  output %y layout L
})";

std::string messageOf(const std::string &where, const std::string &body) {
  auto kernel = parseKernelText("kernel k version 1 where " + where + "\n{\n" +
                                body + "}");
  EXPECT_FALSE(kernel) << body;
  return kernel ? "" : kernel.message();
}

TEST(KernelVariablesTest, EachValueMakesAGraph) {
  std::string text = convolution;
  text.erase(text.find("  %r"), text.find("  %y") - text.find("  %r"));
  auto kernel = parseKernelText(text);
  ASSERT_TRUE(kernel) << kernel.message();
  EXPECT_EQ(kernel->variables, (std::vector<std::string>{"S", "L"}));
  ASSERT_EQ(kernel->graphs.size(), 4u);
  EXPECT_EQ(kernel->graphs[0].choice, "S = [1,1], L = [0,1,2,3]");
  const KernelGraph &last = kernel->graphs[3];
  EXPECT_EQ(last.choice, "S = [2,2], L = [0,2,3,1]");
  EXPECT_EQ(last.choices, (std::vector<int64_t>{1, 1}));
  const Graph &graph = last.graph;
  Dim c = Dim::symbol("c"), h = Dim::symbol("h"), w = Dim::symbol("w");
  EXPECT_EQ(graph.type(graph.inputs[0]).dims, (Dims{1, h, w, c}));
  ASSERT_EQ(graph.ops.size(), 3u);
  EXPECT_EQ(graph.type(graph.ops[0].results[0]).dims, (Dims{1, c, h, w}));
  EXPECT_EQ(graph.ops[1].i64s("strides"), (std::vector<int64_t>{2, 2}));
  const Dims stored = graph.type(graph.outputs[0].value).dims;
  EXPECT_EQ(stored[3], Dim::symbol("o"));
  EXPECT_EQ(kernel->graphs[0].graph.ops.size(), 1u);
}

TEST(KernelVariablesTest, AnInputThatIsAbsentHasOneLayout) {
  auto kernel = parseKernelText(R"(kernel k version 1
where L in [[0, 1], [1, 0]]
{
  symbol m, n
  %x = input f32[m, n]
  %b = optional input f32[m, n] layout L
  %e = exp(%x)
  %y = add(%e, %b)
  output %y
})");
  ASSERT_TRUE(kernel) << kernel.message();
  std::vector<std::string> choices;
  for (const KernelGraph &graph : kernel->graphs)
    choices.push_back(graph.choice);
  EXPECT_EQ(choices,
            (std::vector<std::string>{"L = [0,1], with b", "L = [1,0], with b",
                                      "L = [0,1], without b"}));
}

TEST(KernelVariablesTest, ValuesOfOtherKinds) {
  auto kernel = parseKernelText(R"(kernel k version 1
where K in ["max", "min"], A in [[0], [1]]
{
  symbol m, n
  %x = input f32[m, n]
  %y = reduce(%x) {kind = K, axes = A}
  output %y
})");
  ASSERT_TRUE(kernel) << kernel.message();
  ASSERT_EQ(kernel->graphs.size(), 4u);
  EXPECT_EQ(kernel->graphs[1].choice, "K = min, A = [0]");
}

TEST(KernelVariablesTest, ErrorsNameWhatIsWrong) {
  const std::string ops = "%y = relu(%x)\noutput %y\n";
  EXPECT_EQ(messageOf("L in [[0, 1]]", "%x = input f32[4, 4]\n" + ops),
            "line 1, column 26: L is never used");
  EXPECT_EQ(messageOf("L in [[0, 2]]", "%x = input f32[4, 4] layout L\n" + ops),
            "line 3, column 29: [0,2] is no order of 2 axes");
  EXPECT_EQ(messageOf("L in [[0, 1], [0, 1]]",
                      "%x = input f32[4, 4] layout L\n" + ops),
            "line 1, column 40: expected values of one kind that differ");
  EXPECT_EQ(
      messageOf("L in [[0, 1], 1]", "%x = input f32[4, 4] layout L\n" + ops),
      "line 1, column 40: expected values of one kind that differ");
  EXPECT_EQ(messageOf("L in [1]", "%x = input f32[4, 4] layout M\n" + ops),
            "line 3, column 29: expected a variable of orders of axes, found "
            "\"M\"");
  EXPECT_EQ(messageOf("A in [[0]]", "%x = input f32[4, 4]\n"
                                    "%y = softmax(%x) {axis = A}\noutput %y\n"),
            "line 4, column 26: A has no values that axis may have");
  EXPECT_EQ(messageOf("A in [0], A in [1]", "%x = input f32[4, 4]\n" + ops),
            "line 1, column 36: the name \"A\" is taken");
}

} // namespace
