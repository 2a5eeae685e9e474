// SPDX-License-Identifier: Apache-2.0
#include "conformance/cases/Work.h"

#include <gtest/gtest.h>

namespace backplane::conformance {
namespace {

Graph graphOf(std::string_view op, std::vector<Dims> operands,
              Attributes attributes) {
  Graph graph;
  std::vector<ValueId> values;
  for (const Dims &dims : operands)
    values.push_back(graph.addInput("x" + std::to_string(values.size()),
                                    {DType::F32, dims}));
  auto results = graph.add(op, values, std::move(attributes));
  EXPECT_TRUE(results.ok()) << results.message();
  if (results)
    graph.addOutput(results->front(), "y");
  return graph;
}

TEST(Work, CountsProducts) {
  Dim n = Dim::symbol("n");
  Work work = workOf(graphOf("matmul", {{n, 5, 7}, {7, 11}}, {}), {{"n", 3}});
  EXPECT_EQ(work.macs, 3u * 5 * 7 * 11);
  EXPECT_EQ(work.elements, 3u * 5 * 11);
  EXPECT_EQ(work.rank, 3u);
  work = workOf(
      graphOf("matmul", {{7, 5}, {7, 11}}, {{"transpose_a", int64_t(1)}}), {});
  EXPECT_EQ(work.macs, 5u * 7 * 11);
}

TEST(Work, CountsConvolutions) {
  using List = std::vector<int64_t>;
  Attributes attributes = {{"strides", List{2}},
                           {"dilations", List{1}},
                           {"low", List{0}},
                           {"high", List{0}},
                           {"groups", int64_t(2)}};
  Work work = workOf(graphOf("conv", {{1, 6, 9}, {4, 3, 3}}, attributes), {});
  EXPECT_EQ(work.macs, 4u * 4 * 3 * 3);
  attributes.emplace("output_padding", List{0});
  work =
      workOf(graphOf("conv_transpose", {{1, 6, 9}, {6, 2, 3}}, attributes), {});
  EXPECT_EQ(work.macs, 6u * 9 * 2 * 3);
}

TEST(Work, CountsElementsOfOthersAndSkipsUnknownSizes) {
  Dim n = Dim::symbol("n");
  Graph graph = graphOf("neg", {{n, 4}}, {});
  EXPECT_EQ(workOf(graph, {{"n", 5}}).macs, 20u);
  EXPECT_EQ(workOf(graph, {}).elements, 0u);
  EXPECT_EQ(workOf(graph, {{"n", INT64_MAX}}).macs, UINT64_MAX);
}

} // namespace
} // namespace backplane::conformance
