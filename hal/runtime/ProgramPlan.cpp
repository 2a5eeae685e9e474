// SPDX-License-Identifier: Apache-2.0
#include "ProgramPlan.h"

#include "NameOp.h"

#include <algorithm>

namespace backplane::rt {
namespace {

/// Bytes that a command reads or writes, on one device.
struct Access {
  const Buffer *buffer; ///< null: an entry of the table
  uint32_t slot;
  uint64_t begin, end;
  bool writes;
};

Access accessOf(const Binding &binding, bool writes) {
  return {binding.buffer.get(), binding.buffer ? 0 : binding.slot,
          binding.offset, binding.offset + binding.length, writes};
}

bool conflict(const Access &a, const Access &b) {
  return (a.writes || b.writes) && a.buffer == b.buffer && a.slot == b.slot &&
         a.begin < b.end && b.begin < a.end;
}

void addAccesses(const Command &command, std::vector<Access> &accesses) {
  if (const auto *dispatch = std::get_if<Dispatch>(&command)) {
    const Entry &entry = dispatch->executable->entries()[dispatch->entry];
    for (size_t i = 0; i < dispatch->bindings.size(); ++i)
      accesses.push_back(accessOf(dispatch->bindings[i],
                                  entry.bindingAccess[i] & BP_ACCESS_WRITE));
  } else if (const auto *copy = std::get_if<Copy>(&command)) {
    accesses.push_back(accessOf(copy->source, false));
    accesses.push_back(accessOf(copy->target, true));
  } else if (const auto *fill = std::get_if<Fill>(&command)) {
    accesses.push_back(accessOf(fill->target, true));
  }
}

/// Cuts commands into steps: one for what a device does between transfers that
/// concern it.
class Cutter {
public:
  Cutter(const std::vector<DeviceState> &sides,
         std::shared_ptr<const CommandNotes> notes)
      : sides_(sides), notes_(std::move(notes)), open_(sides.size()),
        transfers_(sides.size()) {}

  Result<Part> run(std::span<const ResolvedCommand> commands) {
    for (const ResolvedCommand &command : commands)
      if (Status s = command.from ? transfer(command) : add(command); !s.ok())
        return s;
    for (uint32_t device = 0; device < open_.size(); ++device)
      if (Status s = close(device); !s.ok())
        return s;
    return std::move(part_);
  }

private:
  /// Commands of a device that are still to be recorded, and those that were.
  struct Open {
    std::vector<Command> commands;
    std::vector<Access> accesses;
    std::vector<uint32_t> after;
    bool works = false;
    std::vector<std::pair<uint32_t, Access>> past; ///< with their step
    std::optional<uint32_t> last;                  ///< step
  };
  Status close(uint32_t device);
  Status add(const ResolvedCommand &command);
  Status transfer(const ResolvedCommand &command);
  Status waitFor(uint32_t device, const Access &range,
                 std::vector<uint32_t> &after);

  const std::vector<DeviceState> &sides_;
  std::shared_ptr<const CommandNotes> notes_;
  std::vector<Open> open_;
  /// What transfers read or write on each device, with their step.
  std::vector<std::vector<std::pair<uint32_t, Access>>> transfers_;
  Part part_;
};

Status Cutter::close(uint32_t device) {
  Open &open = open_[device];
  if (open.works) {
    Result<std::shared_ptr<CommandBuffer>> recorded =
        sides_[device].device->record(open.commands, notes_);
    if (!recorded)
      return recorded.status();
    PlanStep step;
    step.device = device;
    step.commands = std::move(*recorded);
    step.after = std::move(open.after);
    if (open.last)
      step.after.push_back(*open.last);
    open.last = uint32_t(part_.size());
    for (const Access &range : open.accesses)
      open.past.emplace_back(*open.last, range);
    part_.push_back(std::move(step));
    open.after.clear();
  }
  open.commands.clear();
  open.accesses.clear();
  open.works = false;
  return {};
}

/// A command of a device starts a step when it needs a transfer for which the
/// open one does not wait.
Status Cutter::add(const ResolvedCommand &command) {
  Open &open = open_[command.device];
  if (std::holds_alternative<Barrier>(command.command)) {
    for (Open &each : open_)
      if (!each.commands.empty())
        each.commands.push_back(Barrier());
    return {};
  }
  std::vector<Access> accesses;
  std::set<uint32_t> needed;
  if (!transfers_[command.device].empty() || open_.size() > 1)
    addAccesses(command.command, accesses);
  for (const auto &[step, range] : transfers_[command.device])
    for (const Access &own : accesses)
      if (conflict(range, own))
        needed.insert(step);
  for (uint32_t step : open.after)
    needed.erase(step);
  if (!needed.empty()) {
    if (Status s = close(command.device); !s.ok())
      return s;
    open.after.insert(open.after.end(), needed.begin(), needed.end());
  }
  open.commands.push_back(command.command);
  open.accesses.insert(open.accesses.end(), accesses.begin(), accesses.end());
  open.works = true;
  return {};
}

/// Steps of a device that must be done before something else uses the range.
Status Cutter::waitFor(uint32_t device, const Access &range,
                       std::vector<uint32_t> &after) {
  Open &open = open_[device];
  if (std::ranges::any_of(open.accesses, [&](const Access &other) {
        return conflict(range, other);
      }))
    if (Status s = close(device); !s.ok())
      return s;
  // Steps of a device follow each other, so that the last one is enough.
  std::optional<uint32_t> latest;
  for (const auto &[step, other] : open.past)
    if (conflict(range, other))
      latest = step;
  if (latest)
    after.push_back(*latest);
  for (const auto &[step, other] : transfers_[device])
    if (conflict(range, other))
      after.push_back(step);
  return {};
}

Status Cutter::transfer(const ResolvedCommand &command) {
  const Copy &copy = std::get<Copy>(command.command);
  Access source = accessOf(copy.source, false);
  Access target = accessOf(copy.target, true);
  PlanStep step;
  step.device = command.device;
  step.from = *command.from;
  step.source = copy.source;
  step.target = copy.target;
  if (Status s = waitFor(step.from, source, step.after); !s.ok())
    return s;
  if (Status s = waitFor(step.device, target, step.after); !s.ok())
    return s;
  transfers_[step.from].emplace_back(uint32_t(part_.size()), source);
  transfers_[step.device].emplace_back(uint32_t(part_.size()), target);
  part_.push_back(std::move(step));
  return {};
}

/// What one device does is one step, so that running it costs nothing more.
Result<Part> cut(const std::vector<DeviceState> &sides,
                 std::span<const ResolvedCommand> commands,
                 const std::shared_ptr<const CommandNotes> &notes, bool alone) {
  Result<Part> part = Cutter(sides, notes).run(commands);
  if (!part || !part->empty() || !alone)
    return part;
  Result<std::shared_ptr<CommandBuffer>> nothing = sides[0].device->record({});
  if (!nothing)
    return nothing.status();
  PlanStep step;
  step.commands = std::move(*nothing);
  part->push_back(std::move(step));
  return part;
}

/// What a trace says of the dispatches of a program; null while none is on.
std::shared_ptr<const CommandNotes> notesOf(const ResolveContext &context,
                                            const Program &program,
                                            Evaluator &evaluator) {
  if (!context.sides.front().device->host().trace())
    return nullptr;
  auto notes = std::make_shared<CommandNotes>(program.commands.size());
  for (size_t i = 0; i < notes->size(); ++i) {
    const auto *dispatch = std::get_if<program::Dispatch>(&program.commands[i]);
    if (!dispatch)
      continue;
    CommandNote &note = (*notes)[i];
    note.name = dispatch->name;
    if (const auto &executable = context.executables[dispatch->executable])
      note.kernel = executable->entries()[dispatch->entry].name;
    note.ops = eachOnce(dispatch->ops, ", ");
    Result<int64_t> flops =
        dispatch->flops ? evaluator(*dispatch->flops) : Result<int64_t>(0);
    if (flops && *flops > 0)
      note.flops = uint64_t(*flops);
  }
  return notes;
}

/// `before`: the plan that this one goes on with; null: the first.
Result<ProgramPlan> record(Result<Resolved> resolved, const Program &program,
                           Evaluator &evaluator, const ResolveContext &context,
                           const StagedPorts &ports,
                           const ProgramPlan *before) {
  if (!resolved)
    return resolved.status();
  ProgramPlan plan;
  if (before)
    plan.stagedOffsets = before->stagedOffsets;
  else if (resolved->read)
    plan.stagedOffsets = placeStagedPorts(ports, resolved->arenaBytes);
  stagePorts(ports, context.arenaTableSlot, *resolved,
             before || resolved->read ? &plan.stagedOffsets : nullptr);
  plan.arenaBytes = std::move(resolved->arenaBytes);
  plan.controls = std::move(resolved->controls);
  plan.read = std::move(resolved->read);
  if (plan.read)
    plan.places = std::move(resolved->places);
  std::span<const ResolvedCommand> commands = resolved->commands;
  std::shared_ptr<const CommandNotes> notes =
      notesOf(context, program, evaluator);
  size_t from = 0;
  for (size_t i = 0; i <= plan.controls.size(); ++i) {
    size_t to =
        i < plan.controls.size() ? plan.controls[i].position : commands.size();
    Result<Part> part = cut(context.sides, commands.subspan(from, to - from),
                            notes, plan.isOnePart());
    if (!part)
      return part.status();
    plan.parts.push_back(std::move(*part));
    from = to;
  }
  return plan;
}

} // namespace

Result<ProgramPlan> planProgram(const Program &program, Evaluator &evaluator,
                                const ResolveContext &context,
                                const StagedPorts &ports) {
  return record(resolveProgram(program, evaluator, context), program, evaluator,
                context, ports, nullptr);
}

Result<ProgramPlan> planRest(const Program &program, Evaluator &evaluator,
                             const ResolveContext &context,
                             const StagedPorts &ports,
                             const ProgramPlan &plan) {
  return record(
      resolveRest(program, evaluator, context, plan.places, plan.read->next),
      program, evaluator, context, ports, &plan);
}

} // namespace backplane::rt
