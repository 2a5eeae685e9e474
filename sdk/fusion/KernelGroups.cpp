// SPDX-License-Identifier: Apache-2.0
#include "sdk/fusion/KernelGroups.h"

#include "sdk/fusion/SymbolReads.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace bp;

static DictionaryAttr markOf(Operation *op) {
  return op->getAttrOfType<DictionaryAttr>(kernelAttr);
}

std::optional<int64_t> bp::kernelGroupOf(Operation *op) {
  DictionaryAttr mark = op ? markOf(op) : DictionaryAttr();
  auto group = mark ? mark.getAs<IntegerAttr>("group") : IntegerAttr();
  return group ? std::optional(group.getInt()) : std::nullopt;
}

StringRef bp::kernelNameOf(Operation *op) {
  DictionaryAttr mark = markOf(op);
  auto name = mark ? mark.getAs<StringAttr>("name") : StringAttr();
  return name ? name.getValue() : StringRef();
}

std::optional<ArrayRef<int64_t>> bp::partitionOf(Operation *op) {
  DictionaryAttr mark = markOf(op);
  auto named = mark ? mark.getAs<DenseI64ArrayAttr>("partition") : nullptr;
  return named ? std::optional(named.asArrayRef()) : std::nullopt;
}

void bp::setPartition(ArrayRef<Operation *> ops, int64_t group,
                      ArrayRef<int64_t> named) {
  for (Operation *op : ops) {
    Builder b(op->getContext());
    op->setAttr(
        kernelAttr,
        b.getDictionaryAttr(
            {b.getNamedAttr("group", b.getI64IntegerAttr(group)),
             b.getNamedAttr("partition", b.getDenseI64ArrayAttr(named))}));
  }
}

bool bp::isAttention(Operation *op) {
  DictionaryAttr mark = markOf(op);
  return mark && mark.size() == 1 && mark.contains("group");
}

void bp::setAttention(ArrayRef<Operation *> ops, int64_t group) {
  for (Operation *op : ops) {
    Builder b(op->getContext());
    op->setAttr(kernelAttr, b.getDictionaryAttr(b.getNamedAttr(
                                "group", b.getI64IntegerAttr(group))));
  }
}

bool bp::isRegistered(Operation *op) {
  return op->hasAttr(kernelAttr) && !partitionOf(op) && !isAttention(op);
}

void bp::setPartition(func::FuncOp function, Operation *member) {
  Builder b(function.getContext());
  function->setAttr(kernelAttr,
                    b.getDictionaryAttr(b.getNamedAttr(
                        "partition", markOf(member).get("partition"))));
  for (Operation &op : function.front())
    op.removeAttr(kernelAttr);
}

/// The numbers of the bindings of an op's operands or results.
static ArrayRef<int32_t> numbersOf(Operation *op, StringRef of) {
  DictionaryAttr mark = markOf(op);
  auto numbers = mark ? mark.getAs<DenseI32ArrayAttr>(of) : nullptr;
  return numbers ? numbers.asArrayRef() : ArrayRef<int32_t>();
}

SmallVector<Value> bp::kernelOutputs(const std::vector<Operation *> &ops) {
  SmallVector<Value> outputs;
  for (Operation *op : ops)
    for (auto [result, number] :
         llvm::zip(op->getResults(), numbersOf(op, "results")))
      if (number >= 0)
        outputs.push_back(result);
  return outputs;
}

void bp::setKernel(func::FuncOp function, const std::vector<Operation *> &ops,
                   ArrayRef<Value> inputs, ArrayRef<Value> outputs) {
  DictionaryAttr mark = markOf(ops.front());
  auto count = mark.getAs<IntegerAttr>("bindings");
  SmallVector<int32_t> bindings(count ? size_t(count.getInt()) : 0, -1);
  auto bind = [&](Value value, int32_t number, ArrayRef<Value> among,
                  size_t offset) {
    if (number < 0 || size_t(number) >= bindings.size())
      return;
    auto found = llvm::find(among, value);
    assert(found != among.end() && "a binding is a value of the dispatch");
    bindings[number] = int32_t(offset + (found - among.begin()));
  };
  for (Operation *op : ops) {
    for (auto [value, number] :
         llvm::zip(op->getOperands(), numbersOf(op, "operands")))
      bind(value, number, inputs, 0);
    for (auto [value, number] :
         llvm::zip(op->getResults(), numbersOf(op, "results")))
      bind(value, number, outputs, inputs.size());
  }
  NamedAttrList all(mark);
  for (StringRef name : {"group", "operands", "results"})
    all.erase(name);
  Builder b(function.getContext());
  all.set("bindings", b.getDenseI32ArrayAttr(bindings));
  function->setAttr(kernelAttr, all.getDictionary(function.getContext()));
  for (Operation &op : function.front())
    op.removeAttr(kernelAttr);
}

namespace {

/// Orders `main` anew: each op, or group, after all that it needs, else as
/// before.
class Gatherer {
public:
  explicit Gatherer(func::FuncOp main) : main_(main), reads_(main) {}

  /// The first op of a group that depends on itself; null: all are in order.
  Operation *run();
  void apply();
  void dropGroup(Operation *op);

private:
  using Unit = SmallVector<Operation *, 1>;
  struct Open {
    Unit ops;
    SmallVector<Operation *> needs;
    size_t next = 0;
  };
  Unit unitOf(Operation *op);
  void open(Operation *op);
  Operation *visit(Operation *op);

  func::FuncOp main_;
  SymbolReads reads_;
  llvm::DenseMap<int64_t, Unit> groups_;
  std::vector<Open> stack_;
  llvm::DenseSet<Operation *> begun_, done_;
  std::vector<Operation *> order_;
};

} // namespace

Gatherer::Unit Gatherer::unitOf(Operation *op) {
  auto group = kernelGroupOf(op);
  return group ? groups_.lookup(*group) : Unit{op};
}

void Gatherer::open(Operation *op) {
  Open open{unitOf(op)};
  begun_.insert(open.ops.begin(), open.ops.end());
  auto need = [&](Value value) {
    Operation *source = value.getDefiningOp();
    if (source && !llvm::is_contained(open.ops, source))
      open.needs.push_back(source);
  };
  for (Operation *member : open.ops) {
    llvm::for_each(member->getOperands(), need);
    llvm::for_each(reads_.neededBy(member), need);
  }
  stack_.push_back(std::move(open));
}

/// A stack of our own: the one of the thread is too small for the longest
/// chains.
Operation *Gatherer::visit(Operation *op) {
  if (done_.contains(op))
    return nullptr;
  open(op);
  while (!stack_.empty()) {
    Open &top = stack_.back();
    if (top.next == top.needs.size()) {
      done_.insert(top.ops.begin(), top.ops.end());
      llvm::append_range(order_, top.ops);
      stack_.pop_back();
      continue;
    }
    Operation *needed = top.needs[top.next++];
    if (done_.contains(needed))
      continue;
    if (!begun_.contains(needed)) {
      open(needed);
      continue;
    }
    // Only a group can be part of a circle.
    auto group = llvm::find_if(llvm::reverse(stack_), [](const Open &unit) {
      return kernelGroupOf(unit.ops.front()).has_value();
    });
    return group->ops.front();
  }
  return nullptr;
}

Operation *Gatherer::run() {
  groups_.clear();
  stack_.clear();
  begun_.clear();
  done_.clear();
  order_.clear();
  for (Operation &op : main_.front().without_terminator())
    if (auto group = kernelGroupOf(&op))
      groups_[*group].push_back(&op);
  if (groups_.empty())
    return nullptr;
  for (Operation &op : main_.front().without_terminator())
    if (Operation *circle = visit(&op))
      return circle;
  return nullptr;
}

void Gatherer::apply() {
  for (Operation *op : order_)
    op->moveBefore(main_.front().getTerminator());
}

void Gatherer::dropGroup(Operation *op) {
  for (Operation *member : unitOf(op))
    member->removeAttr(kernelAttr);
}

std::vector<std::string> bp::gatherKernels(func::FuncOp main) {
  std::vector<std::string> refused;
  if (llvm::none_of(main.front(),
                    [](Operation &op) { return op.hasAttr(kernelAttr); }))
    return refused;
  Gatherer gatherer(main);
  while (Operation *circle = gatherer.run()) {
    std::string name = partitionOf(circle) ? "a partition"
                       : isAttention(circle)
                           ? "a dispatch for attention"
                           : "kernel " + kernelNameOf(circle).str();
    refused.push_back(name + " is not used: its ops depend on its own results");
    gatherer.dropGroup(circle);
  }
  gatherer.apply();
  return refused;
}
