// SPDX-License-Identifier: Apache-2.0
//
// Registered kernels, from a plug-in's description to numbers. Those of the
// plug-in `marked` add a number of their own, so that results tell what ran:
// 1000 and 3000 native functions, 2000 code in an image, 0 generated code.
#include "Compiling.h"
#include "backplane/compiler.h"

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

Result<Artifact> tryToCompile(const Context &context, const Bytes &wire,
                              const std::string &kernel,
                              std::vector<Floats> weights = {}) {
  bp_compile_options_t options = {BP_HEADER(bp_compile_options_t)};
  options.kernel = toC(kernel);
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
  if (!status.ok())
    return status;
  return Artifact(out);
}

Artifact compile(const Context &context, const Bytes &wire,
                 std::vector<Floats> weights = {}) {
  auto artifact = tryToCompile(context, wire, "", std::move(weights));
  EXPECT_TRUE(artifact.ok()) << artifact.message();
  return std::move(*artifact);
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
  // "sized": the memory is as large as what the launch binds of it.
  for (std::string how : {"", "sized", "unsized", "resolve"}) {
    Broken broken(how.c_str());
    auto context = contextWith(true);
    ASSERT_TRUE(context.ok()) << context.message();
    Artifact artifact = compile(*context, writeGraph(graph), {w});
    const bool isUsed = how.empty() || how == "sized";
    if (how == "unsized")
      EXPECT_NE(explain(artifact).find(
                    "it is persistent memory, and the dispatch has none"),
                std::string::npos)
          << explain(artifact);
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
          float sum = isUsed ? 3000 : 0;
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
      {"in-place", "in_place names binding 3, which is no input of the text"},
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

TEST(NamedKernel, ComputesTheGraph) {
  auto context = contextWith(true);
  ASSERT_TRUE(context.ok()) << context.message();
  for (auto [op, kernel, mark] :
       {std::tuple("mul", "marked.product", 1000.f),
        std::tuple("sub", "marked.difference", 2000.f),
        std::tuple("mul", "-", 0.f), std::tuple("sub", "-", 0.f)}) {
    auto artifact = tryToCompile(*context, elementwise(op), kernel);
    ASSERT_TRUE(artifact.ok()) << artifact.message();
    EXPECT_EQ(markOf(*artifact, 9, op == std::string("mul"), false), mark);
    EXPECT_EQ(describe(*artifact).find(" without "), std::string::npos);
  }
}

TEST(NamedKernel, SaysWhyNot) {
  auto context = contextWith(true);
  ASSERT_TRUE(context.ok()) << context.message();
  Graph more; // than the kernel computes
  EXPECT_TRUE(more.addSymbol({"n", 1, 4096, 1}).ok());
  TensorType type{DType::F32, {Dim::symbol("n")}};
  ValueId a = more.addInput("a", type), b = more.addInput("b", type);
  ValueId product = (*more.add("relu", {(*more.add("mul", {a, b}))[0]}))[0];
  more.addOutput((*more.add("exp", {product}))[0], "y");
  Graph nothing;
  nothing.addOutput(nothing.addInput("a", {DType::F32, {Dim(3)}}), "y");
  const std::tuple<Bytes, const char *, const char *> bad[] = {
      {elementwise("mul"), "marked.sum",
       "no set has a kernel 'marked.sum' for target"},
      {elementwise("mul"), "marked.sum", "there is marked.product, marked."},
      {elementwise("mul"), "marked.difference",
       "kernel marked.difference does not compute"},
      {writeGraph(more), "marked.product",
       "kernel marked.product does not compute exp of f32"},
      {writeGraph(nothing), "marked.product", "computes nothing of the graph"},
  };
  for (const auto &[wire, kernel, message] : bad) {
    auto artifact = tryToCompile(*context, wire, kernel);
    ASSERT_FALSE(artifact.ok()) << kernel;
    EXPECT_NE(artifact.message().find(message), std::string::npos)
        << artifact.message();
  }
}

/// Where the function is absent nothing else runs in its place.
TEST(NamedKernel, HasNoFallback) {
  auto with = contextWith(true), without = contextWith(false);
  ASSERT_TRUE(with.ok() && without.ok());
  auto artifact = tryToCompile(*with, elementwise("mul"), "marked.product");
  ASSERT_TRUE(artifact.ok()) << artifact.message();
  bp_artifact_t *out = nullptr;
  ASSERT_EQ(bp_artifact_open_bytes(without->get(),
                                   bp_artifact_bytes(artifact->get()), &out,
                                   nullptr),
            BP_STATUS_OK);
  Artifact copy(out);
  bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
  options.device = toC("host");
  auto session = createSession(copy, options);
  ASSERT_FALSE(session.ok());
  EXPECT_NE(session.message().find("which no other code replaces: no plug-in "
                                   "'marked' with kernels is loaded"),
            std::string::npos)
      << session.message();
}

struct Kernels {
  std::vector<std::string> texts, refusals;
};

bp_status_t keepKernel(void *context, const bp_kernel_listing_t *listing) {
  auto &kernels = *static_cast<Kernels *>(context);
  EXPECT_EQ(view(listing->plugin), "marked");
  EXPECT_EQ(view(listing->version), "1.0.0");
  if (listing->kernel)
    kernels.texts.emplace_back(view(listing->kernel->text).substr(0, 18));
  else
    kernels.refusals.emplace_back(view(listing->refusal));
  return BP_STATUS_OK;
}

Kernels listKernels() {
  Kernels kernels;
  bp_kernel_listing_sink_t sink = {keepKernel, &kernels};
  auto context = contextWith(true);
  EXPECT_TRUE(context.ok()) << context.message();
  EXPECT_EQ(bp_context_kernels(context->get(), &sink, nullptr), BP_STATUS_OK);
  return kernels;
}

TEST(ListedKernels, AreThoseOfEachSet) {
  Kernels kernels = listKernels();
  EXPECT_EQ(kernels.texts, (std::vector<std::string>{"kernel product ver",
                                                     "kernel linear vers",
                                                     "kernel difference "}));
  EXPECT_TRUE(kernels.refusals.empty());
}

TEST(ListedKernels, ASetThatFailsSaysWhy) {
  Broken broken("no-body");
  Kernels kernels = listKernels();
  ASSERT_EQ(kernels.refusals.size(), 1u);
  EXPECT_NE(kernels.refusals[0].find("the compiled dispatch is missing"),
            std::string::npos)
      << kernels.refusals[0];
}

TEST(ListedKernels, TheSinkMayStop) {
  bp_kernel_listing_sink_t sink = {[](void *, const bp_kernel_listing_t *) {
                                     return bp_status_t(BP_STATUS_ABORTED);
                                   },
                                   nullptr};
  auto context = contextWith(true);
  ASSERT_TRUE(context.ok()) << context.message();
  EXPECT_EQ(bp_context_kernels(context->get(), &sink, nullptr),
            BP_STATUS_ABORTED);
}

} // namespace
