// SPDX-License-Identifier: Apache-2.0
//
// MatchKernels.cpp: which ops of a program registered kernels compute. The
// graph of a kernel goes through the stages of a model first, so that both have
// one form.
#include "sdk/compiler/Variant.h"

#include "sdk/compiler/GeneratedCost.h"
#include "sdk/compiler/Phase.h"
#include "sdk/graph/Decompose.h"
#include "sdk/kernels/FixSize.h"
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
      if (auto reduce = dyn_cast<bp::ReduceOp>(op))
        addSizes(reduce);
    }
  }
  /// Plain sizes that are reduced, the first few.
  const std::set<int64_t> &reducedSizes() const { return sizes_; }
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

  void addSizes(bp::ReduceOp reduce) {
    constexpr size_t most = 8;
    Dims dims = bp::dimsOf(reduce.getX().getType());
    for (int64_t axis : reduce.getAxes())
      if (auto size = dims[size_t(axis)].constant();
          size && sizes_.size() < most)
        sizes_.insert(*size);
  }

  llvm::StringSet<> ops_;
  std::set<DType> dtypes_;
  std::set<size_t> ranks_;
  std::set<int64_t> sizes_;
};

} // namespace

namespace {

/// Which form of a kernel's graph.
struct Form {
  unsigned target;
  size_t kernel, graph;
  size_t extra = 0;  ///< axes that it has more
  int64_t size = -1; ///< of the symbol whose value ops compute with; -1: any
};

} // namespace

/// The graph after decompose, import and optimize for the device; null: it has
/// no such form. `symbol` is the one that gets the size.
static Result<KernelModule> prepare(VariantContext &context, Graph graph,
                                    OneDevice device, const Form &form,
                                    const std::string &symbol) {
  KernelModule result;
  if (form.size >= 0) {
    auto fixed = fixSymbol(std::move(graph), symbol, form.size);
    if (!fixed)
      return Result<KernelModule>(std::move(result));
    graph = std::move(*fixed);
    result.replaced.emplace(symbol, form.size);
  }
  auto primitives = decomposeFor(context, graph, device);
  if (!primitives)
    return primitives.status();
  if (form.extra) {
    auto split = splitFirstAxis(*primitives, form.extra);
    if (!split)
      return Result<KernelModule>(std::move(result));
    *primitives = std::move(split->graph);
    result.replaced.emplace(split->symbol, split->product);
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

/// A form of a kernel's graph, made once for a variant. What has none is
/// reported.
static const KernelModule &moduleOf(VariantContext &context, const Form &form,
                                    OneDevice device, const std::string &symbol,
                                    Draft &draft) {
  auto [entry, isNew] = context.kernelModules.try_emplace(
      {form.target, form.kernel, form.graph, form.extra, form.size,
       device.has_value()});
  if (!isNew)
    return entry->second;
  const RegisteredKernel &kernel =
      *context.targets[form.target].kernels[form.kernel];
  const KernelGraph &from = kernel.text.graphs[form.graph];
  KernelModule &result = entry->second;
  if (form.size < 0 && form.extra == 0) {
    auto keepNone = [](const backplane::Op &) { return false; };
    if (auto primitives = decompose(from.graph, keepNone))
      result.computed = computedSymbol(*primitives);
  }
  auto made = prepare(context, from.graph, device, form, symbol);
  if (made) {
    result.module = std::move(made->module);
    result.replaced = std::move(made->replaced);
    return result;
  }
  std::string line = "kernel " + kernel.fullName();
  if (!from.choice.empty())
    line += " (" + from.choice + ")";
  if (result.computed)
    line += ", where " + *result.computed + " is no number,";
  draft.report.push_back(line + " is never used: " + made.message());
  return result;
}

/// All forms of a graph that may be in a program.
static void addForms(VariantContext &context, Form form, OneDevice device,
                     const Contents &contents, Draft &draft,
                     std::vector<bp::KernelPattern> &patterns) {
  const auto &kernel = context.targets[form.target].kernels[form.kernel];
  const Graph &graph = kernel->text.graphs[form.graph].graph;
  if (!contents.mayHold(graph))
    return;
  // The plain form tells whether there are others.
  auto computed = moduleOf(context, form, device, "", draft).computed;
  std::vector<int64_t> sizes = {-1};
  if (computed)
    llvm::append_range(sizes, contents.reducedSizes());
  size_t rank = graph.type(graph.outputs[0].value).rank();
  for (int64_t size : sizes)
    for (size_t extra = 0; extra <= maxExtraAxes; ++extra) {
      form.size = size;
      form.extra = extra;
      if (!contents.hasRank(rank + extra))
        continue;
      const KernelModule &made =
          moduleOf(context, form, device, computed.value_or(""), draft);
      if (made.module)
        patterns.push_back(
            {kernel.get(), form.kernel, form.graph,
             ModuleOp(*made.module).lookupSymbol<func::FuncOp>("main"),
             made.replaced});
    }
}

/// The graphs of a target's kernels that may be in a program.
static std::vector<bp::KernelPattern>
patternsOf(VariantContext &context, unsigned target, const Contents &contents,
           OneDevice device, const Refusals &refusals, Draft &draft) {
  std::vector<bp::KernelPattern> patterns;
  for (auto [number, kernel] : llvm::enumerate(context.targets[target].kernels))
    for (size_t i = 0; i < kernel->text.graphs.size(); ++i)
      if (!refusals.kernels.contains(kernel->fullName()))
        addForms(context, {target, number, i}, device, contents, draft,
                 patterns);
  return patterns;
}

void backplane::matchKernels(VariantContext &context, ModuleOp module,
                             const std::string &name, OneDevice device,
                             const Refusals &refusals, Draft &draft) {
  if (llvm::all_of(context.targets,
                   [](const Target &target) { return target.kernels.empty(); }))
    return;
  Phase phase(context.services, stage::kernels.name);
  Contents contents(module.lookupSymbol<func::FuncOp>("main"));
  for (unsigned target = 0; target < context.targets.size(); ++target) {
    if (device && *device != target)
      continue;
    auto generated = [&](const Graph &graph, const SymbolValues &sizes,
                         const std::set<int32_t> &fused) {
      return generatedNs(context.targets[target], graph, sizes, fused);
    };
    bp::KernelReport report = bp::matchKernels(
        module, target,
        patternsOf(context, target, contents, device, refusals, draft),
        context.kernel.empty() ? bp::GeneratedCost(generated) : nullptr);
    llvm::append_range(draft.report, report.used);
    llvm::append_range(draft.report, report.nearMisses);
  }
  context.dump.write(name, stage::kernels, module);
}
