// SPDX-License-Identifier: Apache-2.0
//
// An application that rounds up, flushes denormals and traps gets the same
// artifacts and the same bits as any other, and keeps its environment.
#include "Compiling.h"
#include "hal/core/test/OddFloats.h"

#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <thread>

using namespace backplane;
using namespace backplane::test;

namespace {

constexpr int64_t size = 300'000; // for several threads

ValueId add(Graph &graph, const char *op, std::vector<ValueId> operands,
            Attributes attributes = {}) {
  auto results = graph.add(op, std::move(operands), std::move(attributes));
  EXPECT_TRUE(results.ok()) << results.message();
  return results ? results->front() : 0;
}

/// Sums of thirds, products near the least numbers, a quotient by zero.
Bytes graph() {
  Graph graph;
  graph.name = "floats";
  ValueId x = graph.addInput("x", {DType::F32, {Dim(size)}});
  ValueId y = graph.addInput("y", {DType::F32, {Dim(size)}});
  ValueId product = add(graph, "mul", {x, y});
  ValueId quotient = add(graph, "div", {x, y});
  ValueId sum = add(graph, "add", {add(graph, "exp", {product}), quotient});
  graph.addOutput(sum, "sum");
  graph.addOutput(
      add(graph, "reduce", {product},
          {{"kind", std::string("sum")}, {"axes", std::vector<int64_t>{0}}}),
      "all");
  graph.addOutput(product, "product");
  return writeGraph(graph);
}

struct Answers {
  Bytes artifact;
  std::vector<float> values;
  bool operator==(const Answers &other) const {
    return artifact == other.artifact && values.size() == other.values.size() &&
           std::memcmp(values.data(), other.values.data(),
                       values.size() * sizeof(float)) == 0;
  }
};

/// The same values in every environment.
void fill(Floats &x, Floats &y) {
  FloatScope scope;
  for (int64_t i = 0; i < size; ++i) {
    x.values[size_t(i)] = i % 5 ? float(i % 1000) / 3.0f : 1.5e-39f;
    y.values[size_t(i)] = i % 7 ? float(i % 13 + 1) * 1e-3f : 0.0f;
  }
}

Answers run(const Context &context, const char *device) {
  Answers answers;
  auto artifact = compileGraph(context, graph(), device);
  EXPECT_TRUE(artifact.ok()) << artifact.message();
  if (!artifact)
    return answers;
  bp_bytes_t bytes = bp_artifact_bytes(artifact->get());
  const auto *first = static_cast<const uint8_t *>(bytes.data);
  answers.artifact.assign(first, first + bytes.size);
  bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
  options.device = toC(device);
  auto session = createSession(*artifact, options);
  EXPECT_TRUE(session.ok()) << session.message();
  if (!session)
    return answers;
  Floats x({size}, 0), y({size}, 0), sum({size}, 0), all({}, 0),
      product({size}, 0);
  fill(x, y);
  Status status =
      runSession(*session, {x.c(), y.c()}, {sum.c(), all.c(), product.c()});
  EXPECT_EQ(status.message(), "");
  for (const Floats *part : {&sum, &all, &product})
    answers.values.insert(answers.values.end(), part->values.begin(),
                          part->values.end());
  return answers;
}

Answers fresh(const char *device) {
  Result<Context> context = compilerContext();
  EXPECT_TRUE(context.ok()) << context.message();
  return context ? run(*context, device) : Answers();
}

struct FloatEnvironment : testing::TestWithParam<const char *> {};

TEST_P(FloatEnvironment, ChangesNeitherArtifactsNorResults) {
  Answers expected = fresh(GetParam());
  OddFloats odd;
  FloatState before = FloatState::now();
  EXPECT_TRUE(fresh(GetParam()) == expected) << "from the start on";
  EXPECT_TRUE(FloatState::now().controlsAs(before));
  std::thread([&] {
    FloatState inherited = FloatState::now();
    EXPECT_TRUE(fresh(GetParam()) == expected) << "on another thread";
    EXPECT_TRUE(FloatState::now().controlsAs(inherited));
  }).join();
}

INSTANTIATE_TEST_SUITE_P(All, FloatEnvironment, testing::Values("host", "ref"));

} // namespace
