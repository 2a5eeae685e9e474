// SPDX-License-Identifier: Apache-2.0
//
// MatchKernels.cpp: which ops of a program registered kernels compute. The
// graph of a kernel goes through the stages of a model first, so that both have
// one form.
#include "sdk/compiler/Variant.h"

#include "sdk/compiler/Phase.h"
#include "sdk/kernels/Match.h"
#include "sdk/kernels/SplitAxis.h"

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
  bool hasRank(size_t rank) const { return ranks_.count(rank); }
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
    auto tensor = bp::toTensorType(type);
    if (!tensor)
      return;
    dtypes_.insert(tensor->dtype);
    ranks_.insert(tensor->rank());
  }

  llvm::StringSet<> ops_;
  std::set<DType> dtypes_;
  std::set<size_t> ranks_;
};

} // namespace

/// The graph after decompose, import and optimize for the device, with `extra`
/// axes more than it has; null: it cannot have them.
static Result<KernelModule> prepare(VariantContext &context, const Graph &graph,
                                    OneDevice device, size_t extra) {
  auto primitives = decomposeFor(context, graph, device);
  if (!primitives)
    return primitives.status();
  KernelModule result;
  if (extra) {
    auto split = splitFirstAxis(*primitives, extra);
    if (!split)
      return Result<KernelModule>(std::move(result));
    *primitives = std::move(split->graph);
    result.symbol = split->symbol;
    result.product = split->product;
  }
  result.module = bp::importGraph(context.mlir, *primitives);
  if (!result.module)
    return context.diagnostics.take(internalError("the graph has no module"));
  Draft draft;
  if (Status s = optimize(context, *result.module, *primitives, device, draft);
      !s.ok())
    return s;
  return Result<KernelModule>(std::move(result));
}

/// A kernel's graph, made once for a variant. What has none is reported.
static const KernelModule &moduleOf(VariantContext &context, unsigned target,
                                    size_t number, size_t graph, size_t extra,
                                    OneDevice device, Draft &draft) {
  auto [entry, isNew] = context.kernelModules.try_emplace(
      {target, number, graph, extra, device.has_value()});
  if (!isNew)
    return entry->second;
  const RegisteredKernel &kernel = *context.targets[target].kernels[number];
  const KernelGraph &from = kernel.text.graphs[graph];
  auto made = prepare(context, from.graph, device, extra);
  if (made)
    entry->second = std::move(*made);
  else
    draft.report.push_back(
        "kernel " + kernel.fullName() +
        (from.choice.empty() ? "" : " (" + from.choice + ")") +
        " is never used: " + made.message());
  return entry->second;
}

/// The graphs of a target's kernels that may be in a program.
static std::vector<bp::KernelPattern>
patternsOf(VariantContext &context, unsigned target, const Contents &contents,
           OneDevice device, Draft &draft) {
  std::vector<bp::KernelPattern> patterns;
  const auto &kernels = context.targets[target].kernels;
  for (auto [number, kernel] : llvm::enumerate(kernels))
    for (auto [i, graph] : llvm::enumerate(kernel->text.graphs)) {
      size_t rank = graph.graph.type(graph.graph.outputs[0].value).rank();
      for (size_t extra = 0; extra <= maxExtraAxes; ++extra) {
        if (!contents.mayHold(graph.graph) || !contents.hasRank(rank + extra))
          continue;
        const KernelModule &made =
            moduleOf(context, target, number, i, extra, device, draft);
        if (made.module)
          patterns.push_back(
              {kernel.get(), number, i,
               ModuleOp(*made.module).lookupSymbol<func::FuncOp>("main"),
               made.symbol, made.product});
      }
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
