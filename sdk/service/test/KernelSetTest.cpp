// SPDX-License-Identifier: Apache-2.0
//
// Registered kernels, from a plug-in's description to numbers. Those of the
// plug-in `marked` add a number of their own, so that results tell what ran:
// 1000 and 3000 native functions, 2000 code in an image, 0 generated code.
#include "Compiling.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::test;

namespace {

Result<Context> contextWith(bool marked) {
  bp_context_options_t options = {BP_HEADER(bp_context_options_t)};
  const bp_string_t manifests[] = {
      toC(BP_PLUGINS "/host.bp.json"), toC(BP_PLUGINS "/ref.bp.json"),
      toC(BP_PLUGINS "/" BP_OWN_BACKEND ".bp.json"), toC(BP_MARKED_MANIFEST)};
  options.plugin_files = manifests;
  options.plugin_file_count = marked ? 4 : 3;
  options.cache_dir = toC("-");
  return createContext(options);
}

/// As if the plug-in had this bug.
class Broken {
public:
  explicit Broken(const char *how) { setenv("BP_MARKED_BREAKS", how, 1); }
  ~Broken() { unsetenv("BP_MARKED_BREAKS"); }
};

/// y = relu(a op b [+ c]) of n elements.
Bytes elementwise(const char *op, bool third = false) {
  Graph graph;
  graph.name = op;
  EXPECT_TRUE(graph.addSymbol({"n", 1, 4096, 1}).ok());
  TensorType type{DType::F32, {Dim::symbol("n")}};
  ValueId a = graph.addInput("a", type), b = graph.addInput("b", type);
  ValueId value = (*graph.add(op, {a, b}))[0];
  if (third)
    value = (*graph.add("add", {graph.addInput("c", type), value}))[0];
  graph.addOutput((*graph.add("relu", {value}))[0], "y");
  return writeGraph(graph);
}

Artifact compile(const Context &context, const Bytes &wire,
                 std::vector<Floats> weights = {}) {
  bp_compile_options_t options = {BP_HEADER(bp_compile_options_t)};
  bp_string_t target = toC(ownTarget);
  options.targets = &target;
  options.target_count = 1;
  std::vector<bp_tensor_t> tensors;
  for (Floats &weight : weights)
    tensors.push_back(weight.c());
  bp_artifact_t *out = nullptr;
  Status status = checked([&](bp_error_t *error) {
    return bp_artifact_compile_graph(context.get(), {wire.data(), wire.size()},
                                     tensors.data(), uint32_t(tensors.size()),
                                     &options, &out, error);
  });
  EXPECT_TRUE(status.ok()) << status.message();
  return Artifact(out);
}

using Teller = decltype(&bp_artifact_describe);

std::string textOf(const Artifact &artifact, Teller tell) {
  std::string text;
  bp_string_sink_t sink = {[](void *to, bp_string_t part) {
                             *static_cast<std::string *>(to) += view(part);
                             return bp_status_t(BP_STATUS_OK);
                           },
                           &text};
  EXPECT_EQ(tell(artifact.get(), &sink, nullptr), BP_STATUS_OK);
  return text;
}

std::string describe(const Artifact &artifact) {
  return textOf(artifact, bp_artifact_describe);
}

std::string explain(const Artifact &artifact) {
  return textOf(artifact, bp_artifact_explain);
}

/// What the call adds to y = relu(...) of a = 3, 4, ..., b = 2 and c = 5.
float markOf(const Artifact &artifact, int64_t n, bool product, bool third) {
  bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
  options.device = toC("host");
  auto session = createSession(artifact, options);
  EXPECT_TRUE(session.ok()) << session.message();
  EXPECT_EQ(bp_session_dispatch_count(session->get()), 1u);
  Floats a({n}), b({n}, 2), c({n}, 5), y({n}, -1);
  for (int64_t i = 0; i < n; ++i)
    a.values[size_t(i)] = float(3 + i);
  std::vector<bp_tensor_t> inputs = {a.c(), b.c()};
  if (third)
    inputs.push_back(c.c());
  Status status = runSession(*session, inputs, {y.c()});
  EXPECT_TRUE(status.ok()) << status.message();
  auto right = [&](int64_t i) {
    return (product ? float(3 + i) * 2 : float(1 + i)) + (third ? 5.f : 0.f);
  };
  float mark = y.values[0] - right(0);
  for (int64_t i = 0; i < n; ++i)
    EXPECT_EQ(y.values[size_t(i)], right(i) + mark) << i;
  return mark;
}

TEST(KernelSet, ANativeKernelRunsInPlaceOfGeneratedCode) {
  auto context = contextWith(true);
  ASSERT_TRUE(context.ok()) << context.message();
  for (bool third : {false, true}) {
    Artifact artifact = compile(*context, elementwise("mul", third));
    for (int64_t n : {1, 7, 1000})
      EXPECT_EQ(markOf(artifact, n, true, third), 1000);
    std::string text = describe(artifact);
    EXPECT_NE(text.find("requires launch.native"), std::string::npos) << text;
    EXPECT_NE(text.find(" by marked.product version 1 grid (n, 1, 1)"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find(" without marked.product version 1"), std::string::npos)
        << text;
  }
}

TEST(KernelSet, WhereThePlugInIsAbsentGeneratedCodeRuns) {
  auto with = contextWith(true), without = contextWith(false);
  ASSERT_TRUE(with.ok() && without.ok());
  Artifact artifact = compile(*with, elementwise("mul"));
  bp_artifact_t *copy = nullptr;
  ASSERT_EQ(bp_artifact_open_bytes(without->get(),
                                   bp_artifact_bytes(artifact.get()), &copy,
                                   nullptr),
            BP_STATUS_OK);
  EXPECT_EQ(markOf(Artifact(copy), 9, true, false), 0);
}

TEST(KernelSet, WhereItDoesNotResolveGeneratedCodeRuns) {
  for (const char *how : {"resolve", "function"}) {
    Broken broken(how);
    auto context = contextWith(true);
    ASSERT_TRUE(context.ok()) << context.message();
    EXPECT_EQ(markOf(compile(*context, elementwise("mul")), 9, true, false), 0)
        << how;
  }
}

TEST(KernelSet, CodeOfAKernelIsPackaged) {
  auto with = contextWith(true), without = contextWith(false);
  ASSERT_TRUE(with.ok() && without.ok());
  Artifact artifact = compile(*with, elementwise("sub"));
  EXPECT_EQ(markOf(artifact, 33, false, false), 2000);
  bp_artifact_t *copy = nullptr;
  ASSERT_EQ(bp_artifact_open_bytes(without->get(),
                                   bp_artifact_bytes(artifact.get()), &copy,
                                   nullptr),
            BP_STATUS_OK);
  EXPECT_EQ(markOf(Artifact(copy), 33, false, false), 2000);
}

/// y = x w, relu(y) - 1 of weights w[12][5].
TEST(KernelSet, WhatANativeKernelPacksOncePersists) {
  Graph graph;
  EXPECT_TRUE(graph.addSymbol({"m", 1, 100, 1}).ok());
  Floats w({12, 5});
  for (size_t i = 0; i < w.values.size(); ++i)
    w.values[i] = float(int(i % 7) - 3);
  WeightPool pool;
  auto id = pool.add({DType::F32, {Dim(12), Dim(5)}}, floats(w.values));
  ASSERT_TRUE(id.ok());
  ValueId x = graph.addInput("x", {DType::F32, {Dim::symbol("m"), Dim(12)}});
  ValueId weight = (*graph.add("weight", {},
                               {{"id", *id},
                                {"dtype", int64_t(DType::F32)},
                                {"dims", Dims{Dim(12), Dim(5)}}}))[0];
  graph.addOutput((*graph.add("matmul", {x, weight}))[0], "y");
  for (const char *how : {"", "resolve"}) {
    Broken broken(how);
    auto context = contextWith(true);
    ASSERT_TRUE(context.ok()) << context.message();
    Artifact artifact = compile(*context, writeGraph(graph), {w});
    bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
    options.device = toC("host");
    auto session = createSession(artifact, options);
    ASSERT_TRUE(session.ok()) << session.message();
    for (int64_t m : {1, 4, 50}) {
      Floats a({m, 12}), y({m, 5}, -1);
      for (size_t i = 0; i < a.values.size(); ++i)
        a.values[i] = float(i % 5);
      Status status = runSession(*session, {a.c()}, {y.c()});
      ASSERT_TRUE(status.ok()) << status.message();
      for (int64_t r = 0; r < m; ++r)
        for (int64_t j = 0; j < 5; ++j) {
          float sum = *how ? 0 : 3000;
          for (int64_t i = 0; i < 12; ++i)
            sum += a.values[size_t(r * 12 + i)] * w.values[size_t(i * 5 + j)];
          EXPECT_EQ(y.values[size_t(r * 5 + j)], sum);
        }
    }
  }
}

/// A kernel that is described wrongly is left out, with the reason.
TEST(KernelSet, WhatIsWrongWithAKernelIsReported) {
  const std::pair<const char *, const char *> bugs[] = {
      {"text", "line 1, column 42: no op has the name \"inptu\""},
      {"no-body", "the compiled dispatch is missing"},
      {"cost", "'n * rows' uses symbol 'rows', which the text does not have"},
      {"symbol", "'rows' uses symbol 'rows', which the text does not have"},
      {"constants", "it has 1 constants; registered kernels have parameters"},
      {"binding", "it has binding 4, the text has 4 inputs and outputs"},
      {"access", "marked.product: no launch writes output 0"},
  };
  for (auto [how, message] : bugs) {
    Broken broken(how);
    auto context = contextWith(true);
    ASSERT_TRUE(context.ok()) << context.message();
    Artifact artifact = compile(*context, elementwise("mul"));
    EXPECT_NE(explain(artifact).find(message), std::string::npos)
        << how << ": " << explain(artifact);
    EXPECT_EQ(markOf(artifact, 9, true, false), 0) << how;
  }
}

TEST(KernelSet, ALibraryWithoutATableIsRefused) {
  Broken broken("table");
  auto context = contextWith(true);
  ASSERT_TRUE(context.ok()) << context.message();
  EXPECT_EQ(markOf(compile(*context, elementwise("mul")), 9, true, false), 0);
}

} // namespace
