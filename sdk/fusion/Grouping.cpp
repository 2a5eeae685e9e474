// SPDX-License-Identifier: Apache-2.0
#include "sdk/fusion/Fusion.h"

#include "sdk/dialect/Attributes.h"
#include "sdk/dialect/Describe.h"
#include "sdk/fusion/FusionRules.h"
#include "sdk/fusion/GroupOrder.h"
#include "sdk/fusion/KernelGroups.h"
#include "sdk/fusion/SymbolReads.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace bp;

namespace {

/// Ops of one dispatch where the target names no limit, and at most: code of
/// more takes long to generate.
constexpr uint32_t maxFusedOps = 256;

class Grouper {
public:
  Grouper(func::FuncOp main, ArrayRef<FusionOptions> devices)
      : main_(main), devices_(devices), reads_(main) {}

  Grouping run();

private:
  struct Producer {
    unsigned group;
    bool direct; ///< no broadcast or reshape between
    Operation *op;
  };
  void visit(Operation *op);
  void visitKernel(Operation *first);
  void addSources(Value value, bool isKernel, SmallVector<unsigned> &sources);
  void addReads(Operation *op, SmallVector<unsigned> &sources);
  void addNode(Operation *op, bool isKernel);
  std::vector<Producer> producers(Operation *op);
  void collect(Value value, bool direct, std::vector<Producer> &found);
  Reason tryMerge(const Producer &producer, Operation *op);
  Reason fits(const Group &merged);
  Reason claimed(Group &merged, const Group &a, const Group &b);

  func::FuncOp main_;
  ArrayRef<FusionOptions> devices_;
  SymbolReads reads_;
  const FusionOptions *options_ = nullptr; ///< of the op that is visited
  std::vector<Group> groups_;
  llvm::DenseMap<Operation *, unsigned> groupOf_;
  GroupOrder order_;
  uint64_t steps_ = 0; ///< ops looked at for merged groups
  llvm::DenseMap<Operation *, GroupOrder::Node> nodeOf_;
  std::vector<std::string> cuts_;
};

/// Whether all axes after the first reduced one are reduced, or 1.
bool reducesRows(Operation *op) {
  auto shape = cast<RankedTensorType>(op->getOperand(0).getType()).getShape();
  SmallVector<int64_t> axes;
  if (auto reduce = dyn_cast<ReduceOp>(op))
    axes.assign(reduce.getAxes().begin(), reduce.getAxes().end());
  else
    axes.push_back(cast<ArgReduceOp>(op).getAxis());
  if (axes.empty())
    return false;
  for (int64_t i = axes.front(); i < int64_t(shape.size()); ++i)
    if (shape[i] != 1 && !llvm::is_contained(axes, i))
      return false;
  return true;
}

/// Whether exactly the last axes are reduced, whose sizes are known, to numbers
/// of 32 or 64 bits.
bool reducesKnownRows(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  if (!reduce)
    return false;
  auto type = cast<RankedTensorType>(reduce.getOperand().getType());
  unsigned bits = type.getElementTypeBitWidth();
  ArrayRef<int64_t> axes = reduce.getAxes();
  int64_t first = type.getRank() - int64_t(axes.size());
  bool known = llvm::none_of(type.getShape().drop_front(size_t(first)),
                             ShapedType::isDynamic);
  return !axes.empty() && known && (bits == 32 || bits == 64) &&
         llvm::equal(axes, llvm::seq(first, type.getRank()));
}

Group singleton(Operation *op) {
  Group group{.kind = kindOf(op), .ops = {op}, .device = deviceOf(op)};
  if (op->getNumResults())
    group.result = dimsOf(op->getResult(0).getType());
  group.space = group.result;
  if (group.kind == OpKind::Reduction) {
    group.space = dimsOf(op->getOperand(0).getType());
    group.byRows = reducesRows(op);
    group.hasKnownRows = reducesKnownRows(op);
  }
  return group;
}

} // namespace

/// Follows what travels with its user back to the ops that are in groups.
void Grouper::collect(Value value, bool direct, std::vector<Producer> &found) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  if (travelsWithUser(op)) {
    for (Value operand : op->getOperands())
      collect(operand, false, found);
    return;
  }
  if (auto group = groupOf_.find(op); group != groupOf_.end())
    found.push_back({group->second, direct, op});
}

std::vector<Grouper::Producer> Grouper::producers(Operation *op) {
  std::vector<Producer> found;
  for (Value operand : op->getOperands())
    collect(operand, true, found);
  // A contraction has most to gain, then what stands nearest.
  llvm::sort(found, [&](const Producer &a, const Producer &b) {
    auto rank = [&](const Producer &p) {
      return std::pair(groups_[p.group].kind == OpKind::Contraction, p.direct);
    };
    if (rank(a) != rank(b))
      return rank(a) > rank(b);
    return b.op->isBeforeInBlock(a.op);
  });
  return found;
}

/// The nodes that a value comes from. A kernel computes what travels with it
/// itself, even where that is in memory for others.
void Grouper::addSources(Value value, bool isKernel,
                         SmallVector<unsigned> &sources) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  bool travels = travelsWithUser(op);
  auto node = nodeOf_.find(op);
  if (node != nodeOf_.end() && !(isKernel && travels))
    sources.push_back(node->second);
  else if (travels) {
    addReads(op, sources);
    for (Value operand : op->getOperands())
      addSources(operand, isKernel, sources);
  }
}

/// The nodes of the reads whose symbols the op uses.
void Grouper::addReads(Operation *op, SmallVector<unsigned> &sources) {
  for (Value size : reads_.neededBy(op))
    sources.push_back(nodeOf_.at(size.getDefiningOp()));
}

void Grouper::addNode(Operation *op, bool isKernel) {
  SmallVector<unsigned> sources;
  addReads(op, sources);
  for (Value operand : op->getOperands())
    addSources(operand, isKernel, sources);
  nodeOf_[op] = order_.add(sources);
}

/// Values that go in and out of the group.
static std::pair<size_t, size_t> boundary(const Group &group) {
  llvm::DenseSet<Operation *> inside(group.ops.begin(), group.ops.end());
  llvm::DenseSet<Value> inputs;
  size_t outputs = 0;
  std::function<void(Value)> read = [&](Value value) {
    Operation *op = value.getDefiningOp();
    if (op && inside.contains(op))
      return;
    if (op && kindOf(op) == OpKind::Cheap) {
      for (Value operand : op->getOperands())
        read(operand);
      return;
    }
    inputs.insert(value);
  };
  for (Operation *op : group.ops) {
    for (Value operand : op->getOperands())
      read(operand);
    for (Value result : op->getResults())
      outputs += !usersOutside(result, inside, 1).empty();
  }
  return {inputs.size(), outputs};
}

Reason Grouper::fits(const Group &merged) {
  uint32_t maxOps =
      options_->maxOps ? std::min(options_->maxOps, maxFusedOps) : maxFusedOps;
  if (merged.ops.size() > maxOps)
    return "more than the target's " + std::to_string(maxOps) +
           " ops per dispatch";
  steps_ += merged.ops.size();
  auto [inputs, outputs] = boundary(merged);
  if (options_->maxBindings && inputs + outputs > options_->maxBindings)
    return "more than the target's " + std::to_string(options_->maxBindings) +
           " bindings";
  return {};
}

Reason Grouper::claimed(Group &merged, const Group &a, const Group &b) {
  if (!options_->claim)
    return {};
  auto graph = groupGraph(main_, merged.ops);
  if (!graph)
    return "the group has no graph: " + graph.message();
  ClaimAnswer answer = options_->claim(*graph);
  if (!answer.supported)
    return "the backend declines: " + answer.reason;
  merged.cost = answer.cost;
  if (answer.cost > 0 && a.cost > 0 && b.cost > 0 &&
      answer.cost > a.cost + b.cost)
    return "the backend expects " + std::to_string(answer.cost) +
           " ns together and " + std::to_string(a.cost + b.cost) + " ns apart";
  return {};
}

/// Why nothing is fused with a group.
static Reason apart(const Group &group) {
  Operation *op = group.ops.front();
  if (partitionOf(op))
    return "one of them is in a partition";
  if (isAttention(op))
    return "one of them is part of an attention";
  auto alone = op->getAttrOfType<StringAttr>(aloneAttr);
  return alone ? alone.str() : Reason();
}

Reason Grouper::tryMerge(const Producer &producer, Operation *op) {
  unsigned a = producer.group, b = groupOf_[op];
  Group &first = groups_[a], &second = groups_[b];
  if (first.device != second.device)
    return "they run on different devices";
  for (const Group *group : {&first, &second})
    if (Reason reason = apart(*group); !reason.empty())
      return reason;
  for (const Group *group : {&first, &second})
    if (StringRef kernel = kernelNameOf(group->ops.front()); !kernel.empty())
      return "the kernel " + kernel.str() + " computes one of them";
  if (Reason reason = FusionRules(options_->fusion)
                          .apart(first, second, producer.direct, op);
      !reason.empty())
    return reason;
  // Either way: the second group may have taken in producers of the first.
  auto join = order_.tryJoin(nodeOf_[producer.op], nodeOf_[op]);
  if (!join)
    return "another dispatch lies between";
  // The root decides what the group is.
  bool keepFirst = second.kind == OpKind::Elementwise;
  Group merged = keepFirst ? first : second;
  merged.ops = first.ops;
  llvm::append_range(merged.ops, second.ops);
  llvm::sort(merged.ops,
             [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  if (keepFirst && first.kind == OpKind::Movement)
    merged.kind = OpKind::Elementwise;
  if (Reason reason = fits(merged); !reason.empty())
    return reason;
  if (Reason reason = claimed(merged, first, second); !reason.empty())
    return reason;
  order_.join(std::move(*join));
  for (Operation *member : second.ops)
    groupOf_[member] = a;
  groups_[a] = std::move(merged);
  groups_[b].ops.clear();
  return {};
}

/// Whether something that generates no code reads a cheap op, so that it must
/// be in memory.
static bool needsKernel(Operation *op) {
  return llvm::any_of(op->getUsers(), [](Operation *user) {
    return user->hasTrait<OpTrait::IsTerminator>() ||
           kindOf(user) == OpKind::Free || isRegistered(user);
  });
}

/// All ops of a registered kernel, a partition or an attention, which stand one
/// after the other, are one group from the start.
void Grouper::visitKernel(Operation *first) {
  Group group{.kind = OpKind::Opaque, .device = deviceOf(first)};
  SmallVector<unsigned> sources;
  auto number = kernelGroupOf(first);
  for (Operation *op = first; kernelGroupOf(op) == number;
       op = op->getNextNode()) {
    group.ops.push_back(op);
    groupOf_[op] = unsigned(groups_.size());
    addReads(op, sources);
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && kernelGroupOf(source) != number)
        addSources(operand, !isRegistered(op), sources);
  }
  GroupOrder::Node node = order_.add(sources);
  for (Operation *op : group.ops)
    nodeOf_[op] = node;
  groups_.push_back(std::move(group));
}

void Grouper::visit(Operation *op) {
  if (op->hasAttr(kernelAttr)) {
    if (!groupOf_.contains(op))
      visitKernel(op);
    return;
  }
  OpKind kind = kindOf(op);
  if (kind == OpKind::Cheap && !needsKernel(op))
    return;
  if (kind != OpKind::Free || !travelsWithUser(op))
    addNode(op, kind != OpKind::Free);
  if (kind == OpKind::Free)
    return;
  options_ = &devices_[deviceOf(op)];
  groupOf_[op] = unsigned(groups_.size());
  groups_.push_back(singleton(op));
  if (options_->claim)
    if (auto graph = groupGraph(main_, {op}))
      groups_.back().cost = options_->claim(*graph).cost;
  if (!options_->fusion)
    return;
  for (const Producer &producer : producers(op)) {
    unsigned from = groupOf_[producer.op];
    if (from == groupOf_[op])
      continue;
    Reason reason = tryMerge({from, producer.direct, producer.op}, op);
    if (!reason.empty())
      cuts_.push_back(describe(producer.op) + " | " + describe(op) + ": " +
                      reason);
  }
}

Grouping Grouper::run() {
  for (Operation &op : main_.front().without_terminator())
    visit(&op);
  std::erase_if(groups_, [](const Group &g) { return g.ops.empty(); });
  return {std::move(groups_), std::move(cuts_), order_.steps() + steps_};
}

Grouping bp::groupOps(func::FuncOp main, ArrayRef<FusionOptions> devices) {
  return Grouper(main, devices).run();
}
