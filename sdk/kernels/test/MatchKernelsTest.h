// SPDX-License-Identifier: Apache-2.0
//
// Models are texts of kernels, too: their inputs are what a model is given.
#ifndef BACKPLANE_KERNELS_TEST_MATCHKERNELSTEST_H
#define BACKPLANE_KERNELS_TEST_MATCHKERNELSTEST_H

#include "sdk/fusion/Fusion.h"
#include "sdk/graph/Decompose.h"
#include "sdk/kernels/Match.h"
#include "sdk/kernels/SplitAxis.h"
#include "sdk/optimize/Passes.h"

#include "backplane/compiler.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <gtest/gtest.h>

namespace bp {

using Lines = std::vector<std::string>;

inline bool has(const std::string &text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

inline constexpr const char *matmul = R"(
  symbol m, n, k
  %a = input f32[m, k]
  %b = input f32[k, n]
  %c = matmul(%a, %b)
  output %c)";

inline constexpr const char *attention = R"(
  symbol b, m, n, d
  %q = input T[b, m, d]
  %k = input T[b, n, d]
  %v = input T[b, n, d]
  %bias = optional input T[d]
  %kt = transpose(%k) {permutation = [0, 2, 1]}
  %s = matmul(%q, %kt)
  %p = softmax(%s) {axis = 2}
  %o = matmul(%p, %v)
  %all = broadcast(%bias) {dims = [b, m, d], axes = [2]}
  %y = add(%o, %all)
  output %y)";
inline constexpr const char *attentionHead =
    "attention version 1 where T in [f32, f16], d <= 128";

inline constexpr const char *linear = R"(
  symbol m, n, k
  %x = input f32[m, k]
  %w = input f32[k, n]
  %b = input f32[n]
  %p = matmul(%x, %w)
  %all = broadcast(%b) {dims = [m, n], axes = [1]}
  %s = add(%p, %all)
  %y = gelu(%s)
  output %y)";

inline constexpr const char *pair = R"(
  symbol n
  %x = input f32[n]
  %y = input f32[n]
  %a = exp(%x)
  %b = mul(%a, %y)
  output %a, %b)";

class MatchKernelsTest : public testing::Test {
protected:
  MatchKernelsTest() { loadGraphDialects(context_); }

  static backplane::Graph decompose(const backplane::Graph &graph) {
    auto primitives = backplane::decompose(
        graph, [](const backplane::Op &) { return false; });
    EXPECT_TRUE(primitives) << primitives.message();
    return std::move(*primitives);
  }

  void addPattern(KernelPattern pattern, const backplane::Graph &primitives) {
    modules_.push_back(import(primitives));
    pattern.main = modules_.back()->lookupSymbol<mlir::func::FuncOp>("main");
    patterns_.push_back(pattern);
  }

  mlir::OwningOpRef<mlir::ModuleOp> import(const backplane::Graph &graph) {
    mlir::OwningOpRef<mlir::ModuleOp> module =
        importGraph(context_, decompose(graph));
    mlir::PassManager manager(&context_);
    manager.addPass(createSimplifyPass());
    manager.addPass(mlir::createCSEPass());
    EXPECT_TRUE(mlir::succeeded(manager.run(*module)));
    return module;
  }

  static backplane::KernelText parse(const std::string &head,
                                     const std::string &body) {
    auto text =
        backplane::parseKernelText("kernel " + head + " {\n" + body + "\n}");
    EXPECT_TRUE(text) << text.message();
    return text ? std::move(*text) : backplane::KernelText();
  }

  /// Registers a kernel; `head` is "name version 1 where …".
  void add(const std::string &head, const std::string &body,
           std::string cost = "") {
    auto kernel = std::make_shared<backplane::RegisteredKernel>();
    kernel->plugin = "acme";
    kernel->text = parse(head, body);
    kernel->cost = std::move(cost);
    for (size_t i = 0; i < kernel->text.graphs.size(); ++i) {
      KernelPattern pattern{
          .kernel = kernel.get(), .number = kernels_.size(), .graph = i};
      backplane::Graph primitives = decompose(kernel->text.graphs[i].graph);
      addPattern(pattern, primitives);
      if (auto split = backplane::splitFirstAxis(primitives, 1)) {
        pattern.replaced.emplace(split->symbol, split->product);
        addPattern(pattern, split->graph);
      }
    }
    kernels_.push_back(std::move(kernel));
  }

  KernelReport match(const std::string &body, const std::string &where = "") {
    model_ = import(parse("model version 1" + where, body).graphs.at(0).graph);
    return matchKernels(*model_, 0, patterns_, generated_);
  }

  /// What is called after fusion, in order.
  std::vector<KernelMatch> dispatches() {
    FusionOptions options{.fusion = 63};
    EXPECT_TRUE(mlir::succeeded(formDispatches(*model_, options)));
    std::vector<KernelMatch> found;
    others_ = 0;
    for (auto function : model_->getOps<mlir::func::FuncOp>())
      if (auto match = kernelMatchOf(function, kernels_))
        found.push_back(*match);
      else
        others_ += function->hasAttr(dispatchAttr);
    return found;
  }

  mlir::MLIRContext context_;
  std::vector<std::shared_ptr<const backplane::RegisteredKernel>> kernels_;
  std::vector<KernelPattern> patterns_;
  GeneratedCost generated_; ///< none: kernels are used wherever they match
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules_;
  mlir::OwningOpRef<mlir::ModuleOp> model_;
  size_t others_ = 0;
};

} // namespace bp

#endif // BACKPLANE_KERNELS_TEST_MATCHKERNELSTEST_H
