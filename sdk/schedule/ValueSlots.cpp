// SPDX-License-Identifier: Apache-2.0
#include "sdk/schedule/ValueSlots.h"

using namespace mlir;
using namespace backplane;

mlir::Value backplane::rootOf(mlir::Value value) {
  while (isa_and_present<bp::ReshapeOp, bp::ReadOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

Dim backplane::bytesOf(mlir::Value value) {
  return bp::toTensorType(value.getType())->bytes();
}

ValueSlots::ValueSlots(ModuleOp module, std::vector<std::string> &weights,
                       uint32_t firstConstant, Schedule &schedule)
    : module_(module), functions_(module), weights_(weights),
      firstConstant_(firstConstant), report_(schedule.report),
      program_(schedule.program), init_(schedule.init) {
  for (auto [i, id] : llvm::enumerate(weights))
    weightNumbers_.try_emplace(id, uint32_t(i));
}

void ValueSlots::prepare(func::FuncOp main) {
  findVariables(main);
  findInitCalls(main);
  assignOutputs(cast<func::ReturnOp>(main.front().getTerminator()));
}

func::FuncOp ValueSlots::calleeOf(func::CallOp call) const {
  return functions_.lookup<func::FuncOp>(call.getCallee());
}

std::optional<uint32_t> ValueSlots::outputOf(mlir::Value root) const {
  auto found = outputOf_.find(root);
  return found == outputOf_.end() ? std::nullopt : std::optional(found->second);
}

Result<ValueSlots::Variable> ValueSlots::variable(llvm::StringRef name) const {
  auto found = variables_.find(std::string_view(name));
  if (found == variables_.end())
    return notFound("no variable '" + name.str() + "'");
  return found->second;
}

uint32_t ValueSlots::constants() const {
  return firstConstant_ + uint32_t(constantOf_.size());
}

void ValueSlots::addCopy(SlotId source, SlotId target, bool init) {
  builder(init).add(program::Copy{wholeSlot(source), wholeSlot(target)});
}

unsigned ValueSlots::owningDevice(mlir::Value value) const {
  Operation *op = rootOf(value).getDefiningOp();
  if (auto call = dyn_cast_or_null<func::CallOp>(op))
    return bp::deviceOf(calleeOf(call));
  if (auto read = dyn_cast_or_null<bp::VariableReadOp>(op)) {
    Result<Variable> found = variable(read.getVariable());
    return found ? found->device : 0;
  }
  return isa_and_present<bp::ControlOp>(op) ? bp::deviceOf(op) : 0;
}

/// A variable lies where its new value is made.
void ValueSlots::findVariables(func::FuncOp main) {
  if (auto table = module_->getAttrOfType<ArrayAttr>(bp::variablesAttr))
    for (auto [i, entry] : llvm::enumerate(table))
      if (auto name = cast<DictionaryAttr>(entry).getAs<StringAttr>("name"))
        variables_.emplace(name.str(), Variable{uint32_t(i), 0});
  for (auto write : main.getOps<bp::VariableWriteOp>())
    if (auto found = variables_.find(std::string_view(write.getVariable()));
        found != variables_.end() &&
        isa_and_present<func::CallOp, bp::ControlOp>(
            rootOf(write.getX()).getDefiningOp()))
      found->second.device = owningDevice(write.getX());
}

/// Calls whose operands are weights, or results of such calls, and that no
/// symbol changes.
void ValueSlots::findInitCalls(func::FuncOp main) {
  for (auto call : main.getOps<func::CallOp>()) {
    auto symbols = calleeOf(call)->getAttrOfType<ArrayAttr>(bp::symbolsAttr);
    bool fixed = !symbols || symbols.empty();
    for (mlir::Value operand : call.getOperands()) {
      Operation *producer = rootOf(operand).getDefiningOp();
      fixed &= producer &&
               (isa<bp::WeightOp>(producer) || initCalls_.contains(producer));
    }
    if (!fixed)
      continue;
    initCalls_.insert(call);
    report_.push_back(call.getCallee().str() +
                      ": runs once, in the init program");
  }
}

/// Gives each result of a call or a region that leaves the program the place of
/// an output. A value has one place; the others are copied at the end.
void ValueSlots::assignOutputs(func::ReturnOp end) {
  for (auto [i, operand] : llvm::enumerate(end.getOperands())) {
    mlir::Value root = rootOf(operand);
    Operation *producer = root.getDefiningOp();
    if (isa_and_present<func::CallOp, bp::ControlOp>(producer) &&
        !initCalls_.contains(producer))
      outputOf_.try_emplace(root, uint32_t(i));
  }
}

SlotId ValueSlots::weightSlot(ProgramBuilder &builder, bp::WeightOp weight,
                              unsigned device) {
  std::string id = weight.getId().str();
  auto [number, fresh] =
      weightNumbers_.try_emplace(id, uint32_t(weights_.size()));
  if (fresh)
    weights_.push_back(id);
  return builder.slot(SlotKind::Weight, number->second, bytesOf(weight),
                      device);
}

SlotId ValueSlots::resultSlot(mlir::Value value, bool init) {
  ProgramBuilder &builder = this->builder(init);
  auto &slots = init ? initSlots_ : resultSlots_;
  if (auto found = slots.find(value); found != slots.end())
    return found->second;
  SlotId slot;
  unsigned owner = owningDevice(value);
  if (initCalls_.contains(value.getDefiningOp())) {
    auto [at, fresh] = constantOf_.try_emplace({value, owner}, constants());
    slot = builder.slot(SlotKind::Constant, at->second, bytesOf(value), owner);
  } else if (auto output = outputOf_.find(value); output != outputOf_.end()) {
    slot =
        builder.slot(SlotKind::Output, output->second, bytesOf(value), owner);
  } else {
    slot = builder.slot(SlotKind::Transient, 0, bytesOf(value), owner);
  }
  return slots[value] = slot;
}

/// A constant that another device needs is brought there by the init program.
SlotId ValueSlots::copyConstant(mlir::Value value, bool init, unsigned device) {
  auto [at, fresh] = constantOf_.try_emplace({value, device}, constants());
  uint32_t number = at->second;
  Dim bytes = bytesOf(value);
  SlotId target = init_.slot(SlotKind::Constant, number, bytes, device);
  if (fresh) {
    addCopy(resultSlot(value, true), target, true);
    report_.push_back("transfer: " + bytes.str() + " bytes to device " +
                      std::to_string(device) + ", in the init program");
  }
  return init ? target
              : program_.slot(SlotKind::Constant, number, bytes, device);
}

/// Brings a value to another device, once.
SlotId ValueSlots::transfer(mlir::Value value, SlotId source, bool init,
                            unsigned device) {
  if (initCalls_.contains(value.getDefiningOp()))
    return copyConstant(value, init, device);
  auto [at, fresh] = transfers_.try_emplace({value, device}, 0);
  if (!fresh)
    return at->second;
  Dim bytes = bytesOf(value);
  SlotId target = program_.slot(SlotKind::Transient, 0, bytes, device);
  addCopy(source, target);
  report_.push_back("transfer: " + bytes.str() + " bytes from device " +
                    std::to_string(owningDevice(value)) + " to device " +
                    std::to_string(device) + ", " +
                    bp::locationText(value.getLoc()));
  return transfers_[{value, device}] = target;
}

Result<SlotId> ValueSlots::slotOf(mlir::Value value, bool init,
                                  unsigned device) {
  value = rootOf(value);
  ProgramBuilder &builder = this->builder(init);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return builder.slot(SlotKind::Input, argument.getArgNumber(),
                        bytesOf(value), device);
  Operation *op = value.getDefiningOp();
  if (auto weight = dyn_cast<bp::WeightOp>(op))
    return weightSlot(builder, weight, device);
  SlotId slot;
  if (auto read = dyn_cast<bp::VariableReadOp>(op)) {
    Result<Variable> found = variable(read.getVariable());
    if (!found)
      return found.status();
    slot = builder.slot(SlotKind::Variable, found->index, bytesOf(value),
                        found->device);
  } else if (isa<func::CallOp, bp::ControlOp>(op)) {
    slot = resultSlot(value, init);
  } else {
    return internalError("bp-form-dispatches left a " +
                         op->getName().getStringRef().str() + " in main");
  }
  return owningDevice(value) == device ? slot
                                       : transfer(value, slot, init, device);
}
