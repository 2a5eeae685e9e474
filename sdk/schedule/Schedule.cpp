// SPDX-License-Identifier: Apache-2.0
#include "sdk/schedule/Schedule.h"

#include "sdk/schedule/ExpandLaunches.h"
#include "sdk/schedule/ValueSlots.h"

#include <functional>
#include <set>

using namespace mlir;
using namespace backplane;

namespace {

/// Adds the commands, in the order of the ops.
class Scheduler {
public:
  Scheduler(ModuleOp module, std::vector<std::string> &weights,
            uint32_t firstConstant)
      : module_(module), slots_(module, weights, firstConstant, schedule_) {}

  Result<Schedule> run();

private:
  Status sendResults(Operation *op);
  Status addCall(func::CallOp call);
  Status addControl(bp::ControlOp op);
  Status addRead(bp::ReadOp op);
  Status addCopies(func::ReturnOp end);
  Status addWrites(func::FuncOp main);

  ModuleOp module_;
  Schedule schedule_;
  ValueSlots slots_;
};

} // namespace

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
        receivers.emplace(number, bp::deviceOf(slots_.calleeOf(call)));
      else if (isa<bp::ControlOp>(user))
        receivers.emplace(number, bp::deviceOf(user));
    }
  };
  for (OpResult result : op->getResults())
    visit(result.getResultNumber(), result);
  for (auto [number, device] : receivers)
    if (auto slot =
            slots_.slotOf(op->getResult(unsigned(number)), false, device);
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
  bool init = slots_.isInit(call);
  auto callee = slots_.calleeOf(call);
  unsigned device = bp::deviceOf(callee);
  program::Dispatch dispatch;
  dispatch.name = call.getCallee().str();
  dispatch.ops = locationsOf(callee);
  for (mlir::Value operand : call.getOperands()) {
    auto slot = slots_.slotOf(operand, init, device);
    if (!slot)
      return slot.status().within(dispatch.name);
    dispatch.bindings.push_back(wholeSlot(*slot));
  }
  for (mlir::Value result : call.getResults())
    dispatch.bindings.push_back(wholeSlot(slots_.resultSlot(result, init)));
  if (auto symbols = callee->getAttrOfType<ArrayAttr>(bp::symbolsAttr))
    for (auto symbol : symbols.getAsRange<StringAttr>())
      dispatch.constants.push_back(Dim::symbol(symbol.str()));
  size_t command = slots_.builder(init).add(std::move(dispatch));
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
    auto slot = slots_.slotOf(operand, false, bp::deviceOf(op));
    if (!slot)
      return slot.status().within(control.op);
    control.operands.push_back(*slot);
  }
  for (mlir::Value result : op.getResults())
    control.results.push_back(slots_.resultSlot(result, false));
  slots_.builder(false).add(std::move(control));
  return sendResults(op);
}

/// The host reads where the value is.
Status Scheduler::addRead(bp::ReadOp op) {
  program::Read read;
  read.op = bp::locationText(op.getLoc());
  auto slot = slots_.slotOf(op.getX(), false, slots_.owningDevice(op.getX()));
  if (!slot)
    return slot.status().within(read.op);
  read.slot = *slot;
  read.symbol = op.getSymbol().str();
  read.bound = op.getBound().getDims()[0];
  schedule_.report.push_back("read: " + read.symbol + ", at most " +
                             read.bound.str() + ", the host waits for it, " +
                             read.op);
  slots_.builder(false).add(std::move(read));
  return {};
}

/// Outputs that are not the result of a dispatch of their own.
Status Scheduler::addCopies(func::ReturnOp end) {
  ProgramBuilder &program = slots_.builder(false);
  for (auto [i, operand] : llvm::enumerate(end.getOperands())) {
    mlir::Value root = rootOf(operand);
    if (slots_.outputOf(root) == i)
      continue;
    unsigned device = slots_.owningDevice(root);
    auto source = slots_.slotOf(root, false, device);
    if (!source)
      return source.status();
    slots_.addCopy(*source, program.slot(SlotKind::Output, uint32_t(i),
                                         bytesOf(operand), device));
    schedule_.report.push_back("output " + std::to_string(i) +
                               ": copied, its value has another place");
  }
  return {};
}

/// New values of variables, after everything has read the old ones. A value
/// that is an old one of another variable is saved first.
Status Scheduler::addWrites(func::FuncOp main) {
  ProgramBuilder &program = slots_.builder(false);
  std::vector<std::pair<SlotId, SlotId>> copies;
  for (auto write : main.getOps<bp::VariableWriteOp>()) {
    auto found = slots_.variable(write.getVariable());
    if (!found)
      return found.status();
    unsigned device = found->device;
    auto source = slots_.slotOf(write.getX(), false, device);
    if (!source)
      return source.status();
    Dim bytes = bytesOf(write.getX());
    SlotId target =
        program.slot(SlotKind::Variable, found->index, bytes, device);
    if (*source == target)
      continue;
    if (rootOf(write.getX()).getDefiningOp<bp::VariableReadOp>()) {
      SlotId saved = program.slot(SlotKind::Transient, 0, bytes, device);
      slots_.addCopy(*source, saved);
      source = saved;
    }
    copies.emplace_back(*source, target);
  }
  for (auto [source, target] : copies)
    slots_.addCopy(source, target);
  return {};
}

Result<Schedule> Scheduler::run() {
  auto main = module_.lookupSymbol<func::FuncOp>("main");
  auto end = cast<func::ReturnOp>(main.front().getTerminator());
  slots_.prepare(main);
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
  schedule_.constants = slots_.constants();
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
