// SPDX-License-Identifier: Apache-2.0
#include "sdk/schedule/Schedule.h"

#include "sdk/schedule/ExpandLaunches.h"

#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/StringMap.h"

#include <set>

using namespace mlir;
using namespace backplane;

namespace {

using SlotId = uint32_t;

/// What a value is before anything moved or ran: the end of its reshapes, and
/// of the reads, whose result is what they read.
mlir::Value rootOf(mlir::Value value) {
  while (isa_and_present<bp::ReshapeOp, bp::ReadOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

Dim bytesOf(mlir::Value value) {
  return bp::toTensorType(value.getType())->bytes();
}

/// Builds one program: its slots by what they name, its commands.
class ProgramBuilder {
public:
  explicit ProgramBuilder(Program &program) : program_(program) {}

  SlotId slot(SlotKind kind, uint32_t index, Dim bytes, unsigned device) {
    auto [at, fresh] = slots_.emplace(std::tuple(kind, index, device),
                                      SlotId(program_.slots.size()));
    if (fresh || kind == SlotKind::Transient) {
      at->second = SlotId(program_.slots.size());
      program_.slots.push_back({.kind = kind,
                                .index = index,
                                .bytes = std::move(bytes),
                                .device = uint8_t(device)});
    }
    return at->second;
  }

  size_t add(program::Command command) {
    program_.commands.push_back(std::move(command));
    return program_.commands.size() - 1;
  }

private:
  Program &program_;
  std::map<std::tuple<SlotKind, uint32_t, unsigned>, SlotId> slots_;
};

SlotRange bind(SlotId slot) { return {slot, std::nullopt, std::nullopt}; }

class Scheduler {
public:
  Scheduler(ModuleOp module, std::vector<std::string> &weights,
            uint32_t firstConstant)
      : module_(module), functions_(module), weights_(weights),
        firstConstant_(firstConstant), program_(schedule_.program),
        init_(schedule_.init) {
    for (auto [i, id] : llvm::enumerate(weights))
      weightNumbers_.try_emplace(id, uint32_t(i));
  }

  Result<Schedule> run();

private:
  void findVariables(func::FuncOp main);
  void findInitCalls(func::FuncOp main);
  void assignOutputs(func::ReturnOp end);
  unsigned owningDevice(mlir::Value value);
  SlotId weightSlot(ProgramBuilder &builder, bp::WeightOp weight,
                    unsigned device);
  /// Where the value is on a device; brings it there.
  Result<SlotId> slotOf(mlir::Value value, bool init, unsigned device);
  SlotId resultSlot(mlir::Value value, bool init);
  SlotId transfer(mlir::Value value, SlotId source, bool init, unsigned device);
  SlotId copyConstant(mlir::Value value, bool init, unsigned device);
  Status sendResults(Operation *op);
  Status addCall(func::CallOp call);
  Status addControl(bp::ControlOp op);
  Status addRead(bp::ReadOp op);
  Status addCopies(func::ReturnOp end);
  Status addWrites(func::FuncOp main);
  void addCopy(SlotId source, SlotId target, bool init = false);

  struct Variable {
    uint32_t index;
    unsigned device;
  };

  ModuleOp module_;
  SymbolTable functions_;
  std::vector<std::string> &weights_;
  llvm::StringMap<uint32_t> weightNumbers_;
  uint32_t firstConstant_;
  Schedule schedule_;
  ProgramBuilder program_, init_;
  std::map<std::string, Variable, std::less<>> variables_;
  llvm::DenseSet<Operation *> initCalls_;
  llvm::DenseMap<mlir::Value, uint32_t> outputOf_;
  /// Constants by the value and the device where it is needed.
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, uint32_t> constantOf_;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, SlotId> transfers_;
  llvm::DenseMap<mlir::Value, SlotId> resultSlots_;
  llvm::DenseMap<mlir::Value, SlotId> initSlots_;
};

} // namespace

/// The device where a value comes to be; the first one when that is anywhere.
unsigned Scheduler::owningDevice(mlir::Value value) {
  Operation *op = rootOf(value).getDefiningOp();
  if (auto call = dyn_cast_or_null<func::CallOp>(op))
    return bp::deviceOf(functions_.lookup(call.getCallee()));
  if (auto read = dyn_cast_or_null<bp::VariableReadOp>(op)) {
    auto found = variables_.find(std::string_view(read.getVariable()));
    return found == variables_.end() ? 0 : found->second.device;
  }
  return isa_and_present<bp::ControlOp>(op) ? bp::deviceOf(op) : 0;
}

/// A variable lies where its new value is made.
void Scheduler::findVariables(func::FuncOp main) {
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
void Scheduler::findInitCalls(func::FuncOp main) {
  for (auto call : main.getOps<func::CallOp>()) {
    auto callee = functions_.lookup<func::FuncOp>(call.getCallee());
    auto symbols = callee->getAttrOfType<ArrayAttr>(bp::symbolsAttr);
    bool fixed = !symbols || symbols.empty();
    for (mlir::Value operand : call.getOperands()) {
      Operation *producer = rootOf(operand).getDefiningOp();
      fixed &= producer &&
               (isa<bp::WeightOp>(producer) || initCalls_.contains(producer));
    }
    if (!fixed)
      continue;
    initCalls_.insert(call);
    schedule_.report.push_back(call.getCallee().str() +
                               ": runs once, in the init program");
  }
}

/// Gives each result of a call or a region that leaves the program the place of
/// an output. A value has one place; the others are copied at the end.
void Scheduler::assignOutputs(func::ReturnOp end) {
  for (auto [i, operand] : llvm::enumerate(end.getOperands())) {
    mlir::Value root = rootOf(operand);
    Operation *producer = root.getDefiningOp();
    if (isa_and_present<func::CallOp, bp::ControlOp>(producer) &&
        !initCalls_.contains(producer))
      outputOf_.try_emplace(root, uint32_t(i));
  }
}

SlotId Scheduler::weightSlot(ProgramBuilder &builder, bp::WeightOp weight,
                             unsigned device) {
  std::string id = weight.getId().str();
  auto [number, fresh] =
      weightNumbers_.try_emplace(id, uint32_t(weights_.size()));
  if (fresh)
    weights_.push_back(id);
  return builder.slot(SlotKind::Weight, number->second, bytesOf(weight),
                      device);
}

SlotId Scheduler::resultSlot(mlir::Value value, bool init) {
  ProgramBuilder &builder = init ? init_ : program_;
  auto &slots = init ? initSlots_ : resultSlots_;
  if (auto found = slots.find(value); found != slots.end())
    return found->second;
  SlotId slot;
  unsigned owner = owningDevice(value);
  if (initCalls_.contains(value.getDefiningOp())) {
    auto [at, fresh] = constantOf_.try_emplace(
        {value, owner}, firstConstant_ + uint32_t(constantOf_.size()));
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
SlotId Scheduler::copyConstant(mlir::Value value, bool init, unsigned device) {
  auto [at, fresh] = constantOf_.try_emplace(
      {value, device}, firstConstant_ + uint32_t(constantOf_.size()));
  uint32_t number = at->second;
  Dim bytes = bytesOf(value);
  SlotId target = init_.slot(SlotKind::Constant, number, bytes, device);
  if (fresh) {
    addCopy(resultSlot(value, true), target, true);
    schedule_.report.push_back("transfer: " + bytes.str() +
                               " bytes to device " + std::to_string(device) +
                               ", in the init program");
  }
  return init ? target
              : program_.slot(SlotKind::Constant, number, bytes, device);
}

/// Brings a value to another device, once.
SlotId Scheduler::transfer(mlir::Value value, SlotId source, bool init,
                           unsigned device) {
  if (initCalls_.contains(value.getDefiningOp()))
    return copyConstant(value, init, device);
  auto [at, fresh] = transfers_.try_emplace({value, device}, 0);
  if (!fresh)
    return at->second;
  Dim bytes = bytesOf(value);
  SlotId target = program_.slot(SlotKind::Transient, 0, bytes, device);
  addCopy(source, target);
  schedule_.report.push_back(
      "transfer: " + bytes.str() + " bytes from device " +
      std::to_string(owningDevice(value)) + " to device " +
      std::to_string(device) + ", " + bp::locationText(value.getLoc()));
  return transfers_[{value, device}] = target;
}

Result<SlotId> Scheduler::slotOf(mlir::Value value, bool init,
                                 unsigned device) {
  value = rootOf(value);
  ProgramBuilder &builder = init ? init_ : program_;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return builder.slot(SlotKind::Input, argument.getArgNumber(),
                        bytesOf(value), device);
  Operation *op = value.getDefiningOp();
  if (auto weight = dyn_cast<bp::WeightOp>(op))
    return weightSlot(builder, weight, device);
  SlotId slot;
  if (auto read = dyn_cast<bp::VariableReadOp>(op)) {
    auto found = variables_.find(std::string_view(read.getVariable()));
    if (found == variables_.end())
      return notFound("no variable '" + read.getVariable().str() + "'");
    slot = builder.slot(SlotKind::Variable, found->second.index, bytesOf(value),
                        found->second.device);
  } else if (isa<func::CallOp, bp::ControlOp>(op)) {
    slot = resultSlot(value, init);
  } else {
    return internalError("bp-form-dispatches left a " +
                         op->getName().getStringRef().str() + " in main");
  }
  return owningDevice(value) == device ? slot
                                       : transfer(value, slot, init, device);
}

/// Starts the transfers of what an op gives to other devices, so that they run
/// beside what follows.
Status Scheduler::sendResults(Operation *op) {
  std::set<std::pair<size_t, unsigned>> receivers;
  std::function<void(size_t, mlir::Value)> visit = [&](size_t number,
                                                       mlir::Value value) {
    for (Operation *user : value.getUsers()) {
      if (isa<bp::ReshapeOp, bp::ReadOp>(user))
        visit(number, user->getResult(0));
      else if (auto call = dyn_cast<func::CallOp>(user))
        receivers.emplace(number,
                          bp::deviceOf(functions_.lookup(call.getCallee())));
      else if (isa<bp::ControlOp>(user))
        receivers.emplace(number, bp::deviceOf(user));
    }
  };
  for (OpResult result : op->getResults())
    visit(result.getResultNumber(), result);
  for (auto [number, device] : receivers)
    if (auto slot = slotOf(op->getResult(unsigned(number)), false, device);
        !slot)
      return slot.status();
  return {};
}

/// Locations of the ops of a dispatch, in order.
static std::vector<std::string> locationsOf(func::FuncOp function) {
  std::vector<std::string> texts;
  for (Operation &op : function.front().without_terminator()) {
    std::string text = bp::locationText(op.getLoc());
    texts.push_back(text.empty() ? op.getName().stripDialect().str() : text);
  }
  return texts;
}

Status Scheduler::addCall(func::CallOp call) {
  bool init = initCalls_.contains(call);
  auto callee = functions_.lookup<func::FuncOp>(call.getCallee());
  unsigned device = bp::deviceOf(callee);
  program::Dispatch dispatch;
  dispatch.name = call.getCallee().str();
  dispatch.ops = locationsOf(callee);
  for (mlir::Value operand : call.getOperands()) {
    auto slot = slotOf(operand, init, device);
    if (!slot)
      return slot.status().within(dispatch.name);
    dispatch.bindings.push_back(bind(*slot));
  }
  for (mlir::Value result : call.getResults())
    dispatch.bindings.push_back(bind(resultSlot(result, init)));
  if (auto symbols = callee->getAttrOfType<ArrayAttr>(bp::symbolsAttr))
    for (auto symbol : symbols.getAsRange<StringAttr>())
      dispatch.constants.push_back(Dim::symbol(symbol.str()));
  size_t command = (init ? init_ : program_).add(std::move(dispatch));
  schedule_.dispatches.push_back({.init = init,
                                  .command = command,
                                  .results = call.getNumResults(),
                                  .function = call.getCallee().str()});
  return init ? Status() : sendResults(call);
}

Status Scheduler::addControl(bp::ControlOp op) {
  program::Control control;
  control.op = bp::locationText(op.getLoc());
  control.kind = op.getKind() == "if" ? program::ControlKind::If
                                      : program::ControlKind::While;
  auto first = [](bp::DimsAttr attribute) {
    std::vector<Dim> dims = attribute.getDims();
    return dims.empty() ? std::nullopt : std::optional(dims[0]);
  };
  control.condition = first(op.getCondition());
  control.limit = first(op.getLimit());
  control.conditional = op.getConditional();
  control.carried = uint32_t(op.getCarried());
  control.regions.assign(op.getPrograms().begin(), op.getPrograms().end());
  for (mlir::Value operand : op.getOperands()) {
    auto slot = slotOf(operand, false, bp::deviceOf(op));
    if (!slot)
      return slot.status().within(control.op);
    control.operands.push_back(*slot);
  }
  for (mlir::Value result : op.getResults())
    control.results.push_back(resultSlot(result, false));
  program_.add(std::move(control));
  return sendResults(op);
}

/// The host reads where the value is.
Status Scheduler::addRead(bp::ReadOp op) {
  program::Read read;
  read.op = bp::locationText(op.getLoc());
  auto slot = slotOf(op.getX(), false, owningDevice(op.getX()));
  if (!slot)
    return slot.status().within(read.op);
  read.slot = *slot;
  read.symbol = op.getSymbol().str();
  read.bound = op.getBound().getDims()[0];
  schedule_.report.push_back("read: " + read.symbol + ", at most " +
                             read.bound.str() + ", the host waits for it, " +
                             read.op);
  program_.add(std::move(read));
  return {};
}

void Scheduler::addCopy(SlotId source, SlotId target, bool init) {
  (init ? init_ : program_).add(program::Copy{bind(source), bind(target)});
}

/// Outputs that are not the result of a dispatch of their own.
Status Scheduler::addCopies(func::ReturnOp end) {
  for (auto [i, operand] : llvm::enumerate(end.getOperands())) {
    mlir::Value root = rootOf(operand);
    auto assigned = outputOf_.find(root);
    if (assigned != outputOf_.end() && assigned->second == i)
      continue;
    unsigned device = owningDevice(root);
    auto source = slotOf(root, false, device);
    if (!source)
      return source.status();
    addCopy(*source, program_.slot(SlotKind::Output, uint32_t(i),
                                   bytesOf(operand), device));
    schedule_.report.push_back("output " + std::to_string(i) +
                               ": copied, its value has another place");
  }
  return {};
}

/// New values of variables, after everything has read the old ones. A value
/// that is an old one of another variable is saved first.
Status Scheduler::addWrites(func::FuncOp main) {
  std::vector<std::pair<SlotId, SlotId>> copies;
  for (auto write : main.getOps<bp::VariableWriteOp>()) {
    auto found = variables_.find(std::string_view(write.getVariable()));
    if (found == variables_.end())
      return notFound("no variable '" + write.getVariable().str() + "'");
    unsigned device = found->second.device;
    auto source = slotOf(write.getX(), false, device);
    if (!source)
      return source.status();
    Dim bytes = bytesOf(write.getX());
    SlotId target =
        program_.slot(SlotKind::Variable, found->second.index, bytes, device);
    if (*source == target)
      continue;
    if (rootOf(write.getX()).getDefiningOp<bp::VariableReadOp>()) {
      SlotId saved = program_.slot(SlotKind::Transient, 0, bytes, device);
      addCopy(*source, saved);
      source = saved;
    }
    copies.emplace_back(*source, target);
  }
  for (auto [source, target] : copies)
    addCopy(source, target);
  return {};
}

Result<Schedule> Scheduler::run() {
  auto main = module_.lookupSymbol<func::FuncOp>("main");
  auto end = cast<func::ReturnOp>(main.front().getTerminator());
  findVariables(main);
  findInitCalls(main);
  assignOutputs(end);
  for (Operation &op : main.front()) {
    Status status;
    if (auto call = dyn_cast<func::CallOp>(op))
      status = addCall(call);
    else if (auto control = dyn_cast<bp::ControlOp>(op))
      status = addControl(control);
    else if (auto read = dyn_cast<bp::ReadOp>(op))
      status = addRead(read);
    if (!status.ok())
      return status;
  }
  if (auto status = addCopies(end); !status.ok())
    return status;
  if (auto status = addWrites(main); !status.ok())
    return status;
  schedule_.constants = firstConstant_ + uint32_t(constantOf_.size());
  return std::move(schedule_);
}

Result<Schedule> backplane::schedule(ModuleOp module,
                                     std::vector<std::string> &weights,
                                     uint32_t firstConstant) {
  return Scheduler(module, weights, firstConstant).run();
}

void backplane::appendInit(Program &init, Program more) {
  if (more.commands.empty())
    return;
  if (!init.commands.empty())
    init.commands.push_back(program::Barrier());
  auto slots = uint32_t(init.slots.size());
  auto commands = uint32_t(init.commands.size());
  for (Slot &slot : more.slots) {
    slot.first += commands;
    slot.last += commands;
    slot.reuse += slot.reuse < 0 ? 0 : int32_t(slots);
    init.slots.push_back(std::move(slot));
  }
  for (program::Command &command : more.commands) {
    if (auto *dispatch = std::get_if<program::Dispatch>(&command))
      for (SlotRange &binding : dispatch->bindings)
        binding.slot += slots;
    if (auto *copy = std::get_if<program::Copy>(&command)) {
      copy->source.slot += slots;
      copy->target.slot += slots;
    }
    init.commands.push_back(std::move(command));
  }
  init.arenas.resize(std::max(init.arenas.size(), more.arenas.size()), -1);
  for (size_t i = 0; i < more.arenas.size(); ++i)
    init.arenas[i] = std::max(init.arenas[i], more.arenas[i]);
}

/// The symbols that have a greatest value.
static SymbolRanges rangesOf(ModuleOp module) {
  SymbolRanges ranges;
  for (const backplane::Symbol &symbol : bp::symbolsOf(module))
    if (symbol.maximum != INT64_MAX)
      ranges[symbol.name] = {symbol.minimum, symbol.maximum};
  return ranges;
}

Status backplane::finishSchedule(ModuleOp module, Schedule &schedule) {
  SymbolRanges ranges = rangesOf(module);
  ScheduleNotes notes = expandLaunches(schedule);
  if (auto status =
          place(schedule.program, notes.program, ranges, schedule.report);
      !status.ok())
    return status.within("program");
  return place(schedule.init, notes.init, ranges, schedule.report)
      .within("init program");
}
