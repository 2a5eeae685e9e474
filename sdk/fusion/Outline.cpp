// SPDX-License-Identifier: Apache-2.0
#include "sdk/fusion/Fusion.h"
#include "sdk/fusion/KernelGroups.h"
#include "sdk/fusion/SymbolReads.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

#include <algorithm>
#include <set>

using namespace mlir;
using namespace bp;

namespace {

/// A function that computes some ops, and the values of `main` that it reads
/// and gives.
struct Outlined {
  func::FuncOp function;
  llvm::SetVector<Value> inputs;
  SmallVector<Value> outputs;
};

/// Clones ops into a function of their own, with what travels with them.
class Outliner {
public:
  explicit Outliner(const std::vector<Operation *> &ops)
      : ops_(ops), inside_(ops.begin(), ops.end()),
        isKernel_(isRegistered(ops.front())) {}

  Outlined run(MLIRContext *context, StringRef name);

private:
  void findInputs(Value value);
  bool isCloned(Operation *op);
  void findOutputs();
  Value clone(OpBuilder &builder, Value value);
  void setSymbols();

  const std::vector<Operation *> &ops_;
  llvm::DenseSet<Operation *> inside_;
  bool isKernel_; ///< a registered one, which computes these ops and no others
  llvm::DenseMap<Operation *, bool> cloned_;
  Outlined result_;
  IRMapping mapping_;
};

} // namespace

/// Whether an op outside of the group is computed again in it. A reshape is
/// when its source is inside; else it stays outside, where it is free.
bool Outliner::isCloned(Operation *op) {
  if (isKernel_ || inside_.contains(op) || !travelsWithUser(op))
    return false;
  if (auto known = cloned_.find(op); known != cloned_.end())
    return known->second;
  bool cloned = kindOf(op) == OpKind::Cheap;
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp())
      cloned |= inside_.contains(producer) || isCloned(producer);
  cloned_[op] = cloned;
  return cloned;
}

void Outliner::findInputs(Value value) {
  Operation *op = value.getDefiningOp();
  if (op && inside_.contains(op))
    return;
  if (!op || !isCloned(op)) {
    result_.inputs.insert(value);
    return;
  }
  for (Value operand : op->getOperands())
    findInputs(operand);
}

void Outliner::findOutputs() {
  if (isKernel_) {
    result_.outputs = kernelOutputs(ops_);
    return;
  }
  for (Operation *op : ops_)
    for (Value value : op->getResults())
      if (!usersOutside(value, inside_, 1).empty())
        result_.outputs.push_back(value);
}

Value Outliner::clone(OpBuilder &builder, Value value) {
  if (Value done = mapping_.lookupOrNull(value))
    return done;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    clone(builder, operand);
  builder.clone(*op, mapping_);
  return mapping_.lookup(value);
}

/// The names of all symbols in the types and attributes of the function, in the
/// order in which they come: it does not depend on the names.
void Outliner::setSymbols() {
  llvm::SetVector<StringAttr> names;
  Builder b(result_.function.getContext());
  auto add = [&](Attribute attribute) {
    auto dims = dyn_cast_or_null<DimsAttr>(attribute);
    if (!dims)
      return;
    for (const backplane::Dim &dim : dims.getDims()) {
      std::set<std::string> used;
      dim.collectSymbols(used);
      for (const std::string &name : used)
        names.insert(b.getStringAttr(name));
    }
  };
  auto addType = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      add(tensor.getEncoding());
  };
  for (Type type : result_.function.getArgumentTypes())
    addType(type);
  result_.function.walk([&](Operation *op) {
    for (NamedAttribute attribute : op->getAttrs())
      add(attribute.getValue());
    for (Type type : op->getResultTypes())
      addType(type);
  });
  SmallVector<Attribute> texts(names.begin(), names.end());
  result_.function->setAttr(symbolsAttr, b.getArrayAttr(texts));
}

Outlined Outliner::run(MLIRContext *context, StringRef name) {
  for (Operation *op : ops_)
    for (Value operand : op->getOperands())
      findInputs(operand);
  findOutputs();
  SmallVector<Type> inputs, outputs;
  SmallVector<Location> locations;
  for (Value input : result_.inputs) {
    inputs.push_back(input.getType());
    locations.push_back(input.getLoc());
  }
  for (Value output : result_.outputs)
    outputs.push_back(output.getType());
  OpBuilder builder(context);
  Location location = ops_.front()->getLoc();
  auto function = func::FuncOp::create(
      location, name, builder.getFunctionType(inputs, outputs));
  result_.function = function;
  Block *block = function.addEntryBlock();
  for (auto [input, argument] :
       llvm::zip(result_.inputs, block->getArguments()))
    mapping_.map(input, argument);
  builder.setInsertionPointToStart(block);
  for (Operation *op : ops_)
    if (op->getNumResults())
      clone(builder, op->getResult(0));
  SmallVector<Value> results;
  for (Value output : result_.outputs)
    results.push_back(mapping_.lookup(output));
  func::ReturnOp::create(builder, location, results);
  function->setAttr(dispatchAttr, builder.getUnitAttr());
  setSymbols();
  if (partitionOf(ops_.front()))
    setPartition(function, ops_.front());
  if (isKernel_)
    setKernel(function, ops_, result_.inputs.getArrayRef(), result_.outputs);
  if (isAttention(ops_.front()))
    for (Operation &op : function.front())
      op.removeAttr(kernelAttr);
  return std::move(result_);
}

backplane::Result<backplane::Graph>
bp::groupGraph(func::FuncOp main, const std::vector<Operation *> &ops) {
  Outlined outlined = Outliner(ops).run(main.getContext(), "candidate");
  main->getParentOfType<ModuleOp>().push_back(outlined.function);
  auto graph = exportGraph(outlined.function);
  outlined.function.erase();
  return graph;
}

namespace {

/// Writes the body of `main` anew, as calls in an order that respects data.
class MainBuilder {
public:
  MainBuilder(func::FuncOp main, const Grouping &grouping)
      : main_(main), module_(main->getParentOfType<ModuleOp>()), reads_(main) {
    for (const Group &group : grouping.groups)
      for (Operation *op : group.ops)
        groupOf_[op] = &group;
  }
  LogicalResult run();

private:
  /// What is written once the values that it needs are.
  struct Pending {
    Operation *op;
    const Group *group; ///< none: the op itself
    Outlined outlined;
    SmallVector<Value> needs; ///< its operands, then sizes that it uses
    size_t next = 0;          ///< of what it needs
  };
  LogicalResult emit(Operation *op);
  LogicalResult push(Operation *op);
  LogicalResult failCircle(const Group &group);
  void addFunction(Pending &pending);
  void write(Pending &pending);
  std::string nameOf(const Group &group);

  func::FuncOp main_;
  ModuleOp module_;
  SymbolReads reads_;
  llvm::DenseMap<Operation *, const Group *> groupOf_;
  llvm::DenseSet<const Group *> begun_;
  std::vector<Pending> stack_; ///< each is needed by the one before
  IRMapping mapping_;
  Block *body_ = nullptr;
  unsigned count_ = 0;
};

} // namespace

/// After the op that says most about the group.
std::string MainBuilder::nameOf(const Group &group) {
  Operation *root = group.ops.front();
  if (StringRef kernel = kernelNameOf(root); !kernel.empty()) {
    // Formats of code have no other characters in names.
    std::string name = kernel.str();
    std::ranges::replace_if(
        name, [](char c) { return !llvm::isAlnum(c); }, '_');
    return name + "_" + std::to_string(count_++);
  }
  if (partitionOf(root))
    return ("partition_" + Twine(count_++)).str();
  if (isAttention(root))
    return ("attention_" + Twine(count_++)).str();
  for (Operation *op : group.ops)
    if (kindOf(op) > kindOf(root))
      root = op;
  return (root->getName().stripDialect() + "_" + Twine(count_++)).str();
}

void MainBuilder::addFunction(Pending &pending) {
  func::FuncOp function = pending.outlined.function;
  module_.push_back(function);
  if (unsigned device = pending.group->device)
    function->setAttr(deviceAttr,
                      Builder(module_.getContext()).getI64IntegerAttr(device));
  pending.needs.assign(pending.outlined.inputs.begin(),
                       pending.outlined.inputs.end());
  llvm::append_range(
      pending.needs,
      reads_.neededBy(function->getAttrOfType<ArrayAttr>(symbolsAttr)));
}

/// Names the op outside of the group that reads a result of it and is read.
LogicalResult MainBuilder::failCircle(const Group &group) {
  auto error = group.ops.front()->emitOpError("depends on its own dispatch");
  auto isOutside = [&](const Pending &pending) {
    return pending.group != &group;
  };
  auto between = llvm::find_if(llvm::reverse(stack_), isOutside);
  if (between != stack_.rend())
    error << " through " << between->op->getName() << " "
          << locationText(between->op->getLoc());
  return error;
}

LogicalResult MainBuilder::push(Operation *op) {
  auto found = groupOf_.find(op);
  Pending pending{op, found == groupOf_.end() ? nullptr : found->second};
  if (!pending.group) {
    pending.needs.assign(op->operand_begin(), op->operand_end());
    llvm::append_range(pending.needs, reads_.neededBy(op));
  } else {
    if (!begun_.insert(pending.group).second)
      return failCircle(*pending.group);
    pending.outlined = Outliner(pending.group->ops)
                           .run(main_.getContext(), nameOf(*pending.group));
    if (pending.outlined.outputs.empty()) {
      pending.outlined.function.erase();
      return success();
    }
    addFunction(pending);
  }
  stack_.push_back(std::move(pending));
  return success();
}

void MainBuilder::write(Pending &pending) {
  OpBuilder builder = OpBuilder::atBlockEnd(body_);
  if (!pending.group) {
    builder.clone(*pending.op, mapping_);
    return;
  }
  func::FuncOp function = pending.outlined.function;
  SmallVector<Value> operands;
  for (Value input : pending.outlined.inputs)
    operands.push_back(mapping_.lookup(input));
  auto call =
      func::CallOp::create(builder, function.getLoc(), function, operands);
  for (auto [old, result] :
       llvm::zip(pending.outlined.outputs, call.getResults()))
    mapping_.map(old, result);
}

/// Writes an op, or its group, after all that it needs. A stack of our own: the
/// one of the thread is too small for the longest chains.
LogicalResult MainBuilder::emit(Operation *op) {
  if (failed(push(op)))
    return failure();
  while (!stack_.empty()) {
    Pending &top = stack_.back();
    if (top.next == top.needs.size()) {
      write(top);
      stack_.pop_back();
      continue;
    }
    Value needed = top.needs[top.next++];
    if (!mapping_.contains(needed) && failed(push(needed.getDefiningOp())))
      return failure();
  }
  return success();
}

LogicalResult MainBuilder::run() {
  Block *old = &main_.front();
  body_ = new Block;
  main_.getBody().push_back(body_);
  for (BlockArgument argument : old->getArguments())
    mapping_.map(argument,
                 body_->addArgument(argument.getType(), argument.getLoc()));
  // What is in no group is written when something that is written needs it.
  for (Operation &op : old->without_terminator()) {
    auto found = groupOf_.find(&op);
    bool due = found != groupOf_.end() && found->second->ops.back() == &op &&
               !begun_.contains(found->second);
    if (due && !(op.getNumResults() && mapping_.contains(op.getResult(0))) &&
        failed(emit(&op)))
      return failure();
  }
  for (Operation &op : *old)
    if (isa<VariableWriteOp, ReadOp, func::ReturnOp>(op) &&
        !(op.getNumResults() && mapping_.contains(op.getResult(0))) &&
        failed(emit(&op)))
      return failure();
  old->dropAllDefinedValueUses();
  old->erase();
  // What travelled with its users and served nobody else is dead here.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*body_)))
    if (isOpTriviallyDead(&op))
      op.erase();
  return success();
}

LogicalResult bp::outline(func::FuncOp main, const Grouping &grouping) {
  return MainBuilder(main, grouping).run();
}
