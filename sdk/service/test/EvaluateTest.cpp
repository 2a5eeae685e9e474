// SPDX-License-Identifier: Apache-2.0
#include "sdk/service/Evaluate.h"
#include "sdk/graph/GraphTable.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::rt;

namespace {

std::shared_ptr<Registry> registry(std::vector<std::string> manifests) {
  LoaderOptions options;
  options.pluginFiles = std::move(manifests);
  options.threads = 1;
  return Registry::create(options, graphTable());
}

Graph addGraph(Dim size) {
  Graph graph;
  graph.name = "add";
  ValueId a = graph.addInput("a", {DType::I32, {size}});
  ValueId b = graph.addInput("b", {DType::I32, {size}});
  auto sum = graph.add("add", {a, b});
  EXPECT_TRUE(sum.ok()) << sum.message();
  graph.addOutput((*sum)[0], "sum");
  graph.addOutput(a, "a");
  return graph;
}

Bytes ints(std::vector<int32_t> values) {
  Bytes bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(Evaluate, RunsAGraphOnTheReferencePlugin) {
  ReferenceEvaluator evaluator(registry({BP_REF_MANIFEST}));
  Bytes a = ints({1, 2, 3}), b = ints({10, 20, 30});
  std::vector<std::span<const uint8_t>> inputs = {a, b};
  for (int i = 0; i < 2; ++i) {
    auto outputs = evaluator.run(addGraph(3), inputs);
    ASSERT_TRUE(outputs.ok()) << outputs.message();
    ASSERT_EQ(outputs->size(), 2u);
    EXPECT_EQ((*outputs)[0], ints({11, 22, 33}));
    EXPECT_EQ((*outputs)[1], a);
  }
  inputs.pop_back();
  EXPECT_EQ(evaluator.run(addGraph(3), inputs).message(),
            "the graph has 2 inputs, 1 were given");
  inputs.push_back(std::span(b).first(8));
  EXPECT_EQ(evaluator.run(addGraph(3), inputs).message(),
            "input 1 has 8 bytes, 12 are needed");
}

TEST(Evaluate, SaysThatThePluginIsMissing) {
  ReferenceEvaluator evaluator(registry({BP_HOST_MANIFEST}));
  auto outputs = evaluator.run(addGraph(3), {});
  EXPECT_EQ(outputs.message(),
            "constant folding needs the reference plug-in, and no compiler "
            "plug-in has the target 'ref'");
}

TEST(Targets, TakesTheBestThatRunsHere) {
  auto both = registry({BP_HOST_MANIFEST, BP_REF_MANIFEST});
  Result<std::string> target = defaultTarget(*both, "ref");
  ASSERT_TRUE(target.ok()) << target.message();
  EXPECT_EQ(*target, "ref");
  EXPECT_EQ(defaultTarget(*both, "host").message(),
            "no compiler plug-in has a target for driver 'host'; there are "
            "targets for 'ref'");
}

/// Options may mean another device, so that the device is asked.
TEST(Targets, AsksTheDeviceThatOptionsName) {
  auto both = registry({BP_HOST_MANIFEST, BP_REF_MANIFEST});
  auto targets = defaultTargets(*both, "ref://interpreter?speed=2");
  ASSERT_FALSE(targets.ok());
  EXPECT_NE(targets.message().find("speed"), std::string::npos)
      << targets.message();
}

} // namespace
