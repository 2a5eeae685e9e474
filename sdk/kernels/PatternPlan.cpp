// SPDX-License-Identifier: Apache-2.0
#include "sdk/kernels/PatternPlan.h"

#include "sdk/fusion/Fusion.h"

using namespace mlir;
using namespace bp;
using backplane::invalidArgument;
using backplane::Status;

namespace {

class Planner {
public:
  explicit Planner(const KernelPattern &pattern) {
    plan_.pattern = pattern;
    for (Operation &op : main().front().without_terminator())
      ops_.push_back(&op);
  }
  backplane::Result<PatternPlan> run();

private:
  func::FuncOp main() { return plan_.pattern.main; }
  Status number();
  Operation *anchor();
  bool addNext();
  void add(Operation *op, Value via, bool forward);
  bool isShared(Operation *op);

  PatternPlan plan_;
  SmallVector<Operation *> ops_;
  llvm::DenseSet<Operation *> known_;
};

} // namespace

Status Planner::number() {
  const backplane::KernelText &text = plan_.text();
  const backplane::KernelGraph &graph = text.graphs[plan_.pattern.graph];
  Operation *end = main().front().getTerminator();
  for (size_t i = 0; i < graph.bindings.size(); ++i) {
    int32_t number = graph.bindings[i];
    if (number < 0)
      continue;
    bool isInput = i < text.inputCount;
    Value value = isInput ? Value(main().getArgument(unsigned(number)))
                          : end->getOperand(unsigned(number));
    if (isInput ? value.use_empty() : !value.getDefiningOp())
      return invalidArgument("what it computes does not need " +
                             text.bindings[i]);
    auto &numbers = isInput ? plan_.inputs : plan_.outputs;
    if (!numbers.try_emplace(value, int32_t(i)).second)
      return invalidArgument(text.bindings[i] + " is equal to " +
                             text.bindings[size_t(numbers[value])]);
  }
  return {};
}

/// What there are fewest of in models: it is looked for first.
Operation *Planner::anchor() {
  Operation *best = nullptr;
  for (Operation *op : ops_)
    if (plan_.outputs.contains(op->getResult(0)) || !isShared(op))
      if (!best || kindOf(op) >= kindOf(best))
        best = op;
  return best;
}

bool Planner::isShared(Operation *op) {
  OpKind kind = kindOf(op);
  if (kind != OpKind::Cheap && !isa<WeightOp, ReshapeOp>(op))
    return false;
  if (plan_.outputs.contains(op->getResult(0)))
    return false;
  return llvm::all_of(op->getOperands(), [&](Value value) {
    return !value.getDefiningOp() || isShared(value.getDefiningOp());
  });
}

void Planner::add(Operation *op, Value via, bool forward) {
  known_.insert(op);
  bool commutes = isa<AddOp, MulOp, MinOp, MaxOp, AndOp, OrOp, XorOp>(op);
  plan_.steps.push_back({op, via, forward, commutes, isShared(op)});
}

/// The next op: one that defines what a known one reads, else one that reads
/// what a known one defines, else one that reads an input.
bool Planner::addNext() {
  for (const PatternStep &step : plan_.steps)
    for (Value operand : step.op->getOperands())
      if (Operation *op = operand.getDefiningOp(); op && !known_.contains(op)) {
        add(op, operand, false);
        return true;
      }
  auto addUser = [&](Value value) {
    for (Operation *user : value.getUsers())
      if (!known_.contains(user) && !user->hasTrait<OpTrait::IsTerminator>()) {
        add(user, value, true);
        return true;
      }
    return false;
  };
  for (const PatternStep &step : plan_.steps)
    if (!step.isShared && llvm::any_of(step.op->getResults(), addUser))
      return true;
  for (const PatternStep &step : plan_.steps)
    for (Value operand : step.op->getOperands())
      if (!operand.getDefiningOp() && addUser(operand))
        return true;
  return false;
}

backplane::Result<PatternPlan> Planner::run() {
  if (Status s = number(); !s.ok())
    return s;
  Operation *first = anchor();
  if (!first)
    return invalidArgument("it computes nothing");
  add(first, Value(), false);
  while (addNext())
    ;
  if (plan_.steps.size() != ops_.size())
    return invalidArgument("its ops do not hang together");
  return std::move(plan_);
}

backplane::Result<PatternPlan> bp::planPattern(const KernelPattern &pattern) {
  return Planner(pattern).run();
}
