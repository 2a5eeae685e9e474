// SPDX-License-Identifier: Apache-2.0
#include "sdk/graph/Decompose.h"
#include "sdk/kernels/Match.h"
#include "sdk/kernels/Passes.h"
#include "sdk/kernels/SplitAxis.h"
#include "sdk/optimize/Passes.h"

#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/MemoryBuffer.h"

namespace bp {
#define GEN_PASS_DEF_MATCHKERNELSPASS
#include "sdk/kernels/Passes.h.inc"
} // namespace bp

using namespace mlir;
using namespace bp;

namespace {

/// The kernels of texts in files, as those of a plug-in named test.
class TextKernels {
public:
  explicit TextKernels(MLIRContext &context) : context_(context) {}
  backplane::Status read(const std::string &file);
  llvm::ArrayRef<KernelPattern> patterns() const { return patterns_; }

private:
  backplane::Status add(KernelPattern pattern);
  backplane::Status add(KernelPattern pattern, const backplane::Graph &graph);

  MLIRContext &context_;
  std::vector<std::unique_ptr<backplane::RegisteredKernel>> kernels_;
  std::vector<KernelPattern> patterns_;
  std::vector<OwningOpRef<ModuleOp>> modules_;
};

struct MatchKernelsPass : bp::impl::MatchKernelsPassBase<MatchKernelsPass> {
  using MatchKernelsPassBase::MatchKernelsPassBase;

  void runOnOperation() override {
    TextKernels kernels(getContext());
    for (const std::string &file : files)
      if (backplane::Status s = kernels.read(file); !s.ok()) {
        getOperation().emitError(file + ": " + s.message());
        return signalPassFailure();
      }
    KernelReport found =
        matchKernels(getOperation(), device, kernels.patterns());
    Builder b(&getContext());
    SmallVector<Attribute> report;
    for (const auto *lines : {&found.used, &found.nearMisses})
      for (const std::string &line : *lines)
        report.push_back(b.getStringAttr(line));
    getOperation()->setAttr(reportAttr, b.getArrayAttr(report));
  }
};

} // namespace

backplane::Status TextKernels::read(const std::string &file) {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return backplane::notFound(buffer.getError().message());
  auto text = backplane::parseKernelText((*buffer)->getBuffer());
  if (!text)
    return text.status();
  auto kernel = std::make_unique<backplane::RegisteredKernel>();
  kernel->plugin = "test";
  kernel->text = std::move(*text);
  for (size_t i = 0; i < kernel->text.graphs.size(); ++i)
    if (backplane::Status s = add(
            {.kernel = kernel.get(), .number = kernels_.size(), .graph = i});
        !s.ok())
      return s;
  kernels_.push_back(std::move(kernel));
  return {};
}

/// The graph as a model of primitives would be.
backplane::Status TextKernels::add(KernelPattern pattern) {
  auto primitives =
      backplane::decompose(pattern.kernel->text.graphs[pattern.graph].graph,
                           [](const backplane::Op &) { return false; });
  if (!primitives)
    return primitives.status();
  for (size_t extra = 1; extra <= backplane::maxExtraAxes; ++extra)
    if (auto split = backplane::splitFirstAxis(*primitives, extra)) {
      KernelPattern more = pattern;
      more.replaced.emplace(split->symbol, split->product);
      if (backplane::Status s = add(more, split->graph); !s.ok())
        return s;
    }
  return add(pattern, *primitives);
}

backplane::Status TextKernels::add(KernelPattern pattern,
                                   const backplane::Graph &graph) {
  OwningOpRef<ModuleOp> module = importGraph(context_, graph);
  PassManager manager(&context_);
  manager.addPass(createSimplifyPass());
  manager.addPass(createCSEPass());
  if (!module || failed(manager.run(*module)))
    return backplane::internalError("a graph cannot be simplified");
  pattern.main = module->lookupSymbol<func::FuncOp>("main");
  patterns_.push_back(pattern);
  modules_.push_back(std::move(module));
  return {};
}
