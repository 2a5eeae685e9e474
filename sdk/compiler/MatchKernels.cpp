// SPDX-License-Identifier: Apache-2.0
//
// MatchKernels.cpp: which ops of a program registered kernels compute. The
// graph of a kernel goes through the stages of a model first, so that both have
// one form.
#include "sdk/compiler/Variant.h"

#include "sdk/compiler/Phase.h"
#include "sdk/kernels/Match.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace backplane;

namespace {

/// What a graph must find in a program to be worth a look.
class Contents {
public:
  explicit Contents(func::FuncOp main) {
    for (Operation &op : main.front()) {
      ops_.insert(op.getName().stripDialect());
      for (Type type : op.getOperandTypes())
        add(type);
      for (Type type : op.getResultTypes())
        add(type);
    }
  }
  bool mayHold(const Graph &graph) const {
    for (const backplane::Op &op : graph.ops)
      if (isKept(op.name) && !ops_.contains(op.name))
        return false;
    return llvm::all_of(graph.inputs, [&](ValueId input) {
      return dtypes_.count(graph.type(input).dtype);
    });
  }

private:
  /// Whether no stage before turns the op into another one.
  static bool isKept(StringRef op) {
    constexpr StringRef kept[] = {"matmul",     "conv",  "conv_transpose",
                                  "arg_reduce", "top_k", "scatter",
                                  "cumulative"};
    return llvm::is_contained(kept, op);
  }
  void add(Type type) {
    if (auto tensor = bp::toTensorType(type))
      dtypes_.insert(tensor->dtype);
  }

  llvm::StringSet<> ops_;
  std::set<DType> dtypes_;
};

} // namespace

/// The graph after decompose, import and optimize for the device.
static Result<OwningOpRef<ModuleOp>>
prepare(VariantContext &context, const Graph &graph, OneDevice device) {
  auto primitives = decomposeFor(context, graph, device);
  if (!primitives)
    return primitives.status();
  OwningOpRef<ModuleOp> module = bp::importGraph(context.mlir, *primitives);
  if (!module)
    return context.diagnostics.take(internalError("the graph has no module"));
  Draft draft;
  if (Status s = optimize(context, *module, graph, device, draft); !s.ok())
    return s;
  return Result<OwningOpRef<ModuleOp>>(std::move(module));
}

/// The module of a kernel's graph, made once for a variant; null: it has none,
/// which the report says.
static ModuleOp graphOf(VariantContext &context, unsigned target, size_t number,
                        size_t graph, OneDevice device, Draft &draft) {
  auto [entry, isNew] = context.kernelGraphs.try_emplace(
      {target, number, graph, device.has_value()});
  if (!isNew)
    return *entry->second;
  const RegisteredKernel &kernel = *context.targets[target].kernels[number];
  const KernelGraph &from = kernel.text.graphs[graph];
  auto module = prepare(context, from.graph, device);
  if (module)
    entry->second = std::move(*module);
  else
    draft.report.push_back(
        "kernel " + kernel.fullName() +
        (from.choice.empty() ? "" : " (" + from.choice + ")") +
        " is never used: " + module.message());
  return *entry->second;
}

/// The graphs of a target's kernels that may be in a program.
static std::vector<bp::KernelPattern>
patternsOf(VariantContext &context, unsigned target, const Contents &contents,
           OneDevice device, Draft &draft) {
  std::vector<bp::KernelPattern> patterns;
  const auto &kernels = context.targets[target].kernels;
  for (auto [number, kernel] : llvm::enumerate(kernels))
    for (auto [i, graph] : llvm::enumerate(kernel->text.graphs)) {
      if (!contents.mayHold(graph.graph))
        continue;
      ModuleOp module = graphOf(context, target, number, i, device, draft);
      if (module)
        patterns.push_back({kernel.get(), number, i,
                            module.lookupSymbol<func::FuncOp>("main")});
    }
  return patterns;
}

void backplane::matchKernels(VariantContext &context, ModuleOp module,
                             const std::string &name, OneDevice device,
                             Draft &draft) {
  if (llvm::all_of(context.targets,
                   [](const Target &target) { return target.kernels.empty(); }))
    return;
  Phase phase(context.services, stage::kernels.name);
  Contents contents(module.lookupSymbol<func::FuncOp>("main"));
  for (unsigned target = 0; target < context.targets.size(); ++target) {
    if (device && *device != target)
      continue;
    bp::KernelReport report = bp::matchKernels(
        module, target, patternsOf(context, target, contents, device, draft));
    llvm::append_range(draft.report, report.used);
    llvm::append_range(draft.report, report.nearMisses);
  }
  context.dump.write(name, stage::kernels, module);
}
