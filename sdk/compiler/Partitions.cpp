// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/Partitions.h"

#include "hal/core/PartitionCalls.h"
#include "sdk/compiler/WidenFloats.h"
#include "sdk/dialect/Attributes.h"
#include "sdk/dialect/Describe.h"
#include "sdk/fusion/Fusion.h"
#include "sdk/fusion/KernelGroups.h"
#include "sdk/graph/Wire.h"
#include "sdk/support/Error.h"
#include "sdk/support/ReadableText.h"

using namespace mlir;
using namespace backplane;

namespace {

using Ops = std::vector<Operation *>;

/// Partitions that a plug-in may have refused before it is asked no more.
constexpr size_t maxRefused = 16;

/// "12 ops, conv (/a) to relu (/z)"
std::string describe(const Ops &ops) {
  if (ops.size() == 1)
    return bp::describe(ops.front());
  return std::to_string(ops.size()) + " ops, " + bp::describe(ops.front()) +
         " to " + bp::describe(ops.back());
}

/// The ops that a value comes from, behind what travels with its users and is
/// not of the set.
void addSources(mlir::Value value, const llvm::DenseSet<Operation *> &inside,
                llvm::SetVector<Operation *> &sources) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  if (inside.contains(op) || !bp::travelsWithUser(op)) {
    sources.insert(op);
    return;
  }
  for (mlir::Value operand : op->getOperands())
    addSources(operand, inside, sources);
}

/// Whether a value is that of a weight, under any shape.
bool isWeight(Operation *op) {
  while (auto reshape = dyn_cast_or_null<bp::ReshapeOp>(op))
    op = reshape.getX().getDefiningOp();
  return isa_and_nonnull<bp::WeightOp>(op);
}

/// Takes one plug-in's partitions of a program.
class Taker {
public:
  Taker(const VariantContext &context, func::FuncOp main, unsigned device,
        const Refusals &refusals, llvm::DenseSet<Operation *> &taken,
        std::vector<std::string> &report)
      : context_(context), main_(main), device_(device), refusals_(refusals),
        taken_(taken), report_(report) {
    for (Operation &op : main.front().without_terminator())
      ops_.push_back(&op);
  }

  /// Whether the plug-in has partitions for such graphs.
  Result<bool> run(const Graph &graph, std::vector<ProgramPartition> &out);

private:
  const Target &target() const { return context_.targets[device_]; }
  Result<std::optional<std::vector<PartitionAnswer>>> ask(const Graph &graph);
  std::string take(const PartitionAnswer &answer, ProgramPartition &out);
  std::string collect(const PartitionAnswer &answer, Ops &out) const;
  std::string misfit(const Ops &ops) const;
  std::string misfit(const Ops &ops, const Graph &graph) const;
  Operation *pathBack(const llvm::DenseSet<Operation *> &inside) const;

  const VariantContext &context_;
  func::FuncOp main_;
  unsigned device_;
  const Refusals &refusals_;
  llvm::DenseSet<Operation *> &taken_; ///< by partitions before
  std::vector<std::string> &report_;
  Ops ops_; ///< of `main`
};

Result<std::optional<std::vector<PartitionAnswer>>>
Taker::ask(const Graph &graph) {
  std::vector<uint8_t> refused(ops_.size(), 0);
  for (const auto &[where, reason] : refusals_.partitions)
    for (int64_t op : where.second)
      if (where.first == device_)
        refused[size_t(op)] = 1;
  Bytes wire = writeGraph(graph);
  auto dumped = DispatchDump::fromEnvironment().write({.isPartition = true,
                                                       .target = target().name,
                                                       .graph = wire,
                                                       .refused = refused},
                                                      {});
  if (!dumped)
    return dumped.status();
  bp_graph_t *handle = nullptr;
  bp_error_t error;
  bp_status_t code = context_.services.graphTable->graph_open(
      {wire.data(), wire.size()}, &handle, &error);
  if (code != BP_STATUS_OK)
    return takeError(code, error);
  auto answer = callPartition(*target().plugin, target().name, handle,
                              context_.services.graphTable, refused);
  context_.services.graphTable->graph_close(handle);
  DispatchDump::note(*dumped, answer.status());
  if (!answer)
    return answer.status().within(target().plugin->name);
  return answer;
}

/// The ops of a set that are computed. A reshape at its edge is free outside of
/// it. Gives why the set cannot be.
std::string Taker::collect(const PartitionAnswer &answer, Ops &out) const {
  llvm::SetVector<Operation *> all;
  for (uint32_t number : answer.ops) {
    Operation *op = ops_[number];
    if (isa<bp::VariableReadOp, bp::VariableWriteOp, bp::ControlOp, bp::ReadOp>(
            op))
      return bp::describe(op) +
             " is memory or control, which no device computes";
    bool isShape = isa<bp::ReshapeOp>(op);
    if (!isa<bp::WeightOp>(op) &&
        (isShape || bp::kindOf(op) != bp::OpKind::Cheap))
      all.insert(op);
  }
  auto atEdge = [&](Operation *op) {
    auto inside = [&](Operation *other) { return all.contains(other); };
    return isa<bp::ReshapeOp>(op) &&
           (llvm::none_of(op->getUsers(), inside) ||
            !inside(op->getOperand(0).getDefiningOp()));
  };
  while (all.remove_if(atEdge))
    ;
  for (Operation *op : all)
    if (taken_.contains(op))
      return bp::describe(op) + " is in another partition";
  out.assign(all.begin(), all.end());
  return out.empty() ? "it computes nothing" : "";
}

/// An op outside of the set on a path that leaves it and comes back.
Operation *Taker::pathBack(const llvm::DenseSet<Operation *> &inside) const {
  llvm::DenseSet<Operation *> behind; ///< what needs an op of the set
  for (Operation *op : ops_) {
    llvm::SetVector<Operation *> sources;
    for (mlir::Value operand : op->getOperands())
      addSources(operand, inside, sources);
    bool isInside = inside.contains(op);
    for (Operation *source : sources) {
      if (isInside && behind.contains(source))
        return source;
      if (!isInside && (inside.contains(source) || behind.contains(source)))
        behind.insert(op);
    }
  }
  return nullptr;
}

/// Why the target has no dispatch of this graph.
std::string Taker::misfit(const Ops &ops, const Graph &graph) const {
  if (std::string why = unlistedOp(target(), graph); !why.empty())
    return why;
  if (std::string why = missingSize(target(), graph); !why.empty())
    return why;
  for (const backplane::Op &op : graph.ops) {
    if (auto type = missingDType(target(), graph, op))
      return "the target does not compute in " + std::string(name(*type));
    for (const auto *list : {&op.operands, &op.results})
      for (ValueId value : *list)
        if (DType type = graph.type(value).dtype;
            !(target().storageDTypes >> unsigned(type) & 1))
          return "the target has no " + std::string(name(type));
  }
  size_t constants =
      target().maxConstants ? target().maxConstants : BP_MAX_CONSTANTS;
  if (graph.symbols.size() > constants)
    return "it uses " + std::to_string(graph.symbols.size()) +
           " symbols, the target passes " + std::to_string(constants);
  llvm::DenseSet<Operation *> inside(ops.begin(), ops.end());
  llvm::SetVector<Operation *> sources;
  for (Operation *op : ops)
    for (mlir::Value operand : op->getOperands())
      addSources(operand, inside, sources);
  size_t weights = llvm::count_if(sources, isWeight);
  size_t bindings = graph.inputs.size() + graph.outputs.size() -
                    std::min(graph.inputs.size(), weights);
  if (target().maxBindings && bindings > target().maxBindings)
    return "it has " + std::to_string(bindings) +
           " bindings without its weights, the target has " +
           std::to_string(target().maxBindings);
  return {};
}

std::string Taker::misfit(const Ops &ops) const {
  llvm::DenseSet<Operation *> inside(ops.begin(), ops.end());
  if (Operation *between = pathBack(inside))
    return "a path leaves it and comes back through " + bp::describe(between) +
           ", which is not in it";
  auto graph = bp::groupGraph(main_, ops);
  if (!graph)
    return graph.message();
  if (graph->outputs.empty())
    return "nothing uses its results";
  return misfit(ops, *graph);
}

/// Gives why the set is not taken; empty: it is, in `out`.
std::string Taker::take(const PartitionAnswer &answer, ProgramPartition &out) {
  if (std::string why = collect(answer, out.ops); !why.empty())
    return why;
  if (std::string why = misfit(out.ops); !why.empty())
    return why;
  out.device = device_;
  out.named.assign(answer.ops.begin(), answer.ops.end());
  out.costNs = answer.costNs;
  out.text = describe(out.ops);
  if (answer.costNs > 0)
    out.text += ", about " + std::to_string(int64_t(answer.costNs)) + " ns";
  out.text += ": " + readable(answer.reason, 512);
  taken_.insert(out.ops.begin(), out.ops.end());
  return {};
}

Result<bool> Taker::run(const Graph &graph,
                        std::vector<ProgramPartition> &out) {
  const std::string label = "target " + target().name + ": ";
  size_t refused = llvm::count_if(refusals_.partitions, [&](const auto &one) {
    return one.first.first == device_;
  });
  if (refused >= maxRefused) {
    report_.push_back(label + "asked for no more partitions, as " +
                      std::to_string(refused) + " were refused");
    return true;
  }
  auto answers = ask(graph);
  if (!answers)
    return answers.status();
  if (!*answers)
    return false;
  for (const PartitionAnswer &answer : **answers) {
    std::vector<int64_t> named(answer.ops.begin(), answer.ops.end());
    if (refusals_.partitions.count({device_, named}))
      continue; // the report has the reason
    ProgramPartition partition;
    std::string why = take(answer, partition);
    if (why.empty()) {
      out.push_back(std::move(partition));
      continue;
    }
    Ops ops;
    for (uint32_t op : answer.ops)
      ops.push_back(ops_[op]);
    report_.push_back(label + "a partition of " + describe(ops) +
                      " is not taken: " + why);
  }
  return true;
}

} // namespace

Result<ProgramPartitions>
backplane::askPartitions(const VariantContext &context, ModuleOp module,
                         OneDevice device, const Refusals &refusals,
                         Draft &draft) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  ProgramPartitions result;
  result.only.assign(context.targets.size(), false);
  if (!context.kernel.empty())
    return result;
  llvm::DenseSet<Operation *> taken;
  std::optional<Graph> graph;
  for (unsigned i = 0; i < context.targets.size(); ++i) {
    const Target &target = context.targets[i];
    if (!target.plugin->table->partition || (device && *device != i))
      continue;
    if (!main.getOps<bp::ControlOp>().empty()) {
      draft.report.push_back(
          "target " + target.name +
          ": its partitions are left out, as the program has control flow");
      continue;
    }
    if (!graph) {
      auto exported = bp::exportGraph(main);
      if (!exported)
        return exported.status();
      graph = std::move(*exported);
    }
    auto has = Taker(context, main, i, refusals, taken, draft.report)
                   .run(*graph, result.partitions);
    if (!has)
      return has.status();
    result.only[i] = *has;
  }
  return result;
}

void backplane::markPartition(const ProgramPartition &partition,
                              int64_t group) {
  llvm::SetVector<Operation *> all(partition.ops.begin(), partition.ops.end());
  // What travels between its ops is copied into it, from user to source.
  for (size_t i = 0; i < all.size(); ++i)
    for (OpOperand &operand : all[i]->getOpOperands()) {
      Operation *source = operand.get().getDefiningOp();
      if (!source || all.contains(source) || !bp::travelsWithUser(source))
        continue;
      llvm::SetVector<Operation *> behind;
      llvm::DenseSet<Operation *> inside(all.begin(), all.end());
      addSources(operand.get(), inside, behind);
      if (llvm::none_of(behind,
                        [&](Operation *op) { return inside.contains(op); }))
        continue;
      Operation *copy = OpBuilder(source).clone(*source);
      operand.set(copy->getResult(0));
      all.insert(copy);
    }
  bp::setPartition(all.getArrayRef(), group, partition.named);
}
