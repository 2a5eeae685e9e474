// SPDX-License-Identifier: Apache-2.0
//
// Dispatches of several launches, from a vendor's `compile` to numbers: a
// product that is added up in parts, over scratch that the planner places.
#include "Compiling.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::test;

namespace {

/// y = a * b, or a * b * c; rows of a are counted by n.
Bytes product(std::initializer_list<std::array<int64_t, 2>> factors) {
  Graph graph;
  graph.name = "product";
  EXPECT_TRUE(graph.addSymbol({"n", 1, 4096, 1}).ok());
  std::optional<ValueId> left;
  for (auto [rows, columns] : factors) {
    ValueId factor = graph.addInput(
        left ? "b" + std::to_string(graph.inputs.size()) : "a",
        {DType::F32, {left ? Dim(rows) : Dim::symbol("n"), Dim(columns)}});
    left = left ? (*graph.add("matmul", {*left, factor}))[0] : factor;
  }
  graph.addOutput(*left, "y");
  return writeGraph(graph);
}

/// A weight of f32, which the graph gets as a value.
struct WeightData {
  Floats data;
  ValueId addTo(Graph &graph) const {
    WeightPool pool;
    TensorType type{DType::F32, {data.dims[0], data.dims[1]}};
    auto id = pool.add(type, floats(data.values));
    EXPECT_TRUE(id.ok()) << id.message();
    auto value = graph.add("weight", {},
                           {{"id", *id},
                            {"dtype", int64_t(DType::F32)},
                            {"dims", Dims{type.dims[0], type.dims[1]}}});
    EXPECT_TRUE(value.ok()) << value.message();
    return value->at(0);
  }
};

Result<Context> splitContext() {
  bp_context_options_t options = {BP_HEADER(bp_context_options_t)};
  const bp_string_t manifests[] = {toC(BP_PLUGINS "/host.bp.json"),
                                   toC(BP_PLUGINS "/ref.bp.json"),
                                   toC(BP_SPLIT_K_MANIFEST)};
  options.plugin_files = manifests;
  options.plugin_file_count = 3;
  options.cache_dir = toC("-");
  return createContext(options);
}

Result<Artifact> compileSplit(const Context &context, const Bytes &wire,
                              std::vector<WeightData> weights = {}) {
  bp_compile_options_t options = {BP_HEADER(bp_compile_options_t)};
  bp_string_t target = toC("split-k");
  options.targets = &target;
  options.target_count = 1;
  std::vector<bp_tensor_t> tensors;
  for (WeightData &weight : weights)
    tensors.push_back(weight.data.c());
  bp_artifact_t *out = nullptr;
  Status status = checked([&](bp_error_t *error) {
    return bp_artifact_compile_graph(context.get(), {wire.data(), wire.size()},
                                     tensors.data(), uint32_t(tensors.size()),
                                     &options, &out, error);
  });
  if (!status.ok())
    return status;
  return Artifact(out);
}

Floats numbers(int64_t rows, int64_t columns, int seed) {
  Floats made({rows, columns});
  for (size_t i = 0; i < made.values.size(); ++i)
    made.values[i] = float((int(i) * 7 + seed) % 11 - 5);
  return made;
}

Floats times(const Floats &a, const Floats &b) {
  Floats c({a.dims[0], b.dims[1]});
  for (int64_t x = 0; x < a.dims[0]; ++x)
    for (int64_t i = 0; i < a.dims[1]; ++i)
      for (int64_t j = 0; j < b.dims[1]; ++j)
        c.values[size_t(x * b.dims[1] + j)] +=
            a.values[size_t(x * a.dims[1] + i)] *
            b.values[size_t(i * b.dims[1] + j)];
  return c;
}

Result<Session> sessionOf(const Artifact &artifact) {
  bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
  return createSession(artifact, options);
}

TEST(Launches, AddUpAProductInParts) {
  auto context = splitContext();
  ASSERT_TRUE(context.ok()) << context.message();
  auto artifact = compileSplit(*context, product({{0, 33}, {33, 10}}));
  ASSERT_TRUE(artifact.ok()) << artifact.message();
  auto session = sessionOf(*artifact);
  ASSERT_TRUE(session.ok()) << session.message();
  for (int64_t rows : {1, 7, 64, 3, 7}) {
    Floats a = numbers(rows, 33, 1), b = numbers(33, 10, 2), y({rows, 10}, 99);
    Status status = runSession(*session, {a.c(), b.c()}, {y.c()});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(y.values, times(a, b).values) << rows;
  }
}

/// The launches are dispatches with a barrier between them, told with what they
/// were given.
TEST(Launches, AreDescribed) {
  auto context = splitContext();
  ASSERT_TRUE(context.ok()) << context.message();
  auto artifact = compileSplit(*context, product({{0, 33}, {33, 10}}));
  ASSERT_TRUE(artifact.ok()) << artifact.message();
  std::string text;
  bp_string_sink_t sink = {[](void *to, bp_string_t part) {
                             *static_cast<std::string *>(to) += view(part);
                             return bp_status_t(BP_STATUS_OK);
                           },
                           &text};
  ASSERT_EQ(bp_artifact_describe(artifact->get(), &sink, nullptr),
            BP_STATUS_OK);
  for (const char *part :
       {"requires launch.parameters",
        "  0 dispatch matmul_0.0 grid (n, 5, 1) entry partial parameters (n, "
        "33, 10, ",
        "  2 dispatch matmul_0.1 grid (n, 1, 1) entry sum parameters (10, "})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

/// The intermediate product and the scratch of both share an arena, and the
/// second product must not read what the first one's scratch has become.
TEST(Launches, ShareAnArenaWithIntermediateValues) {
  auto context = splitContext();
  ASSERT_TRUE(context.ok()) << context.message();
  auto artifact =
      compileSplit(*context, product({{0, 20}, {20, 17}, {17, 9}, {9, 40}}));
  ASSERT_TRUE(artifact.ok()) << artifact.message();
  auto session = sessionOf(*artifact);
  ASSERT_TRUE(session.ok()) << session.message();
  for (int64_t rows : {13, 100}) {
    Floats a = numbers(rows, 20, 3), b = numbers(20, 17, 4),
           c = numbers(17, 9, 5), d = numbers(9, 40, 6), y({rows, 40}, 99);
    Status status = runSession(*session, {a.c(), b.c(), c.c(), d.c()}, {y.c()});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(y.values, times(times(times(a, b), c), d).values) << rows;
  }
}

/// y = a times each of the weights in turn.
Bytes productOfWeights(const std::vector<WeightData> &weights) {
  Graph graph;
  graph.name = "product";
  EXPECT_TRUE(graph.addSymbol({"n", 1, 4096, 1}).ok());
  ValueId left = graph.addInput(
      "a", {DType::F32, {Dim::symbol("n"), weights[0].data.dims[0]}});
  for (const WeightData &weight : weights)
    left = graph.add("matmul", {left, weight.addTo(graph)})->at(0);
  graph.addOutput(left, "y");
  return writeGraph(graph);
}

/// Two are made into another layout once per session, two are baked in: though
/// all dispatches are equal, each runs with its own weight.
TEST(Launches, PrepareWeightsOnceAndBakeThem) {
  auto context = splitContext();
  ASSERT_TRUE(context.ok()) << context.message();
  std::vector<WeightData> weights = {{numbers(12, 12, 1)},
                                     {Floats({12, 12}, 2)},
                                     {numbers(12, 12, 5)},
                                     {Floats({12, 12}, -1)}};
  auto artifact = compileSplit(*context, productOfWeights(weights), weights);
  ASSERT_TRUE(artifact.ok()) << artifact.message();
  for (int again = 0; again < 2; ++again) {
    auto session = sessionOf(*artifact);
    ASSERT_TRUE(session.ok()) << session.message();
    for (int64_t rows : {5, 40}) {
      Floats a = numbers(rows, 12, 3), y({rows, 12}, 99), expected = a;
      for (const WeightData &weight : weights)
        expected = times(expected, weight.data);
      Status status = runSession(*session, {a.c()}, {y.c()});
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(y.values, expected.values) << rows;
    }
  }
}

TEST(Launches, ThatRunOnceAreRefusedWithTheReason) {
  auto context = splitContext();
  ASSERT_TRUE(context.ok()) << context.message();
  std::vector<WeightData> weights = {{numbers(12, 12, 1)}};
  const std::pair<const char *, const char *> wrong[] = {
      {"init-input", "init launch 0, entry 'pack': binding 0: it is number 0 "
                     "of the dispatch, which is no weight"},
      {"init-scratch", "it is scratch, which is there in calls only"},
      {"init-size", "is no number, which it must be before any call"},
      {"persistent-written", "it writes persistent memory in a call"},
      {"no-persistent", "it is persistent memory, and the dispatch has none"},
      {"small-persistent", "it names 1000000 bytes at 0 of a slot of 576"}};
  for (auto [how, reason] : wrong) {
    setenv("BP_SPLIT_K_BREAKS", how, 1);
    auto artifact = compileSplit(*context, productOfWeights(weights), weights);
    EXPECT_FALSE(artifact.ok()) << how;
    EXPECT_NE(artifact.message().find(reason), std::string::npos)
        << how << ": " << artifact.message();
  }
  unsetenv("BP_SPLIT_K_BREAKS");
}

TEST(Launches, AreRefusedWithTheReason) {
  auto context = splitContext();
  ASSERT_TRUE(context.ok()) << context.message();
  const std::pair<const char *, const char *> wrong[] = {
      {"writes-input",
       "launch 0, entry 'partial': binding 1: it writes input 1 "
       "of the dispatch"},
      {"no-such-binding",
       "binding 0: it is number 3 of the dispatch, which has 3"},
      {"no-scratch", "binding 2: it is scratch, and the dispatch has none"},
      {"no-output", "no launch writes output 0"},
      {"constants", "it takes 7 constants, the dispatch has 1 symbols"},
      {"long-parameter", "9223372036854775807"}};
  for (auto [how, reason] : wrong) {
    setenv("BP_SPLIT_K_BREAKS", how, 1);
    auto artifact = compileSplit(*context, product({{0, 33}, {33, 10}}));
    EXPECT_FALSE(artifact.ok()) << how;
    EXPECT_NE(artifact.message().find(reason), std::string::npos)
        << how << ": " << artifact.message();
  }
  unsetenv("BP_SPLIT_K_BREAKS");
}

/// What only the device or a call can tell.
TEST(Launches, AreRefusedByTheDeviceOrTheCall) {
  auto context = splitContext();
  ASSERT_TRUE(context.ok()) << context.message();
  const std::pair<const char *, const char *> wrong[] = {
      {"driver-data", "3 bytes for its driver, which reads at most 0"},
      {"cluster", "a cluster of 2 by 1 by 1 work-groups, the device has "
                  "clusters of at most 1"},
      {"small-scratch", "binding 0: length"},
      {"beyond-scratch", "binding 0: offset: '1000000' is 1000000"}};
  for (auto [how, reason] : wrong) {
    setenv("BP_SPLIT_K_BREAKS", how, 1);
    auto artifact = compileSplit(*context, product({{0, 33}, {33, 10}}));
    ASSERT_TRUE(artifact.ok()) << how << ": " << artifact.message();
    auto session = sessionOf(*artifact);
    std::string message = session.message();
    if (session) {
      Floats a = numbers(7, 33, 1), b = numbers(33, 10, 2), y({7, 10});
      message = runSession(*session, {a.c(), b.c()}, {y.c()}).message();
    }
    EXPECT_NE(message.find(reason), std::string::npos)
        << how << ": " << message;
  }
  unsetenv("BP_SPLIT_K_BREAKS");
}

} // namespace
