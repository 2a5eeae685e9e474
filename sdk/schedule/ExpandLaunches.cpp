// SPDX-License-Identifier: Apache-2.0
#include "sdk/schedule/ExpandLaunches.h"

#include "backplane/compiler.h"

using namespace backplane;

namespace {

/// Commands with their notes.
struct CommandList {
  std::vector<program::Command> commands;
  std::vector<CommandNotes> notes;

  void add(program::Command command, CommandNotes note) {
    commands.push_back(std::move(command));
    notes.push_back(std::move(note));
  }
};

/// The slots that the bindings of a launch may name.
struct LaunchSlots {
  std::vector<uint32_t> bindings; ///< of the dispatch
  uint32_t scratch = 0, persistent = 0;

  uint32_t operator[](uint32_t binding) const {
    if (binding == BP_LAUNCH_SCRATCH)
      return scratch;
    return binding == BP_LAUNCH_PERSISTENT ? persistent : bindings[binding];
  }
};

class Expansion {
public:
  explicit Expansion(Schedule &schedule) : schedule_(schedule) {}

  ScheduleNotes run() {
    ScheduleNotes notes;
    for (bool init : {false, true}) {
      Program &program = init ? schedule_.init : schedule_.program;
      CommandList expanded;
      expand(program, init, expanded);
      if (init)
        for (size_t i = 0; i < once_.commands.size(); ++i)
          expanded.add(std::move(once_.commands[i]), once_.notes[i]);
      program.commands = std::move(expanded.commands);
      (init ? notes.init : notes.program) = std::move(expanded.notes);
    }
    return notes;
  }

private:
  void expand(Program &program, bool init, CommandList &out) {
    std::vector<const ScheduledDispatch *> dispatches(program.commands.size());
    for (const ScheduledDispatch &dispatch : schedule_.dispatches)
      if (dispatch.init == init)
        dispatches[dispatch.command] = &dispatch;
    for (size_t i = 0; i < program.commands.size(); ++i)
      if (!dispatches[i])
        out.add(std::move(program.commands[i]), {});
      else
        addDispatch(std::get<program::Dispatch>(program.commands[i]),
                    *dispatches[i], program, out);
  }

  void addDispatch(program::Dispatch whole, const ScheduledDispatch &dispatch,
                   Program &program, CommandList &out) {
    if (dispatch.native) {
      addKernel(whole, dispatch, *dispatch.native, program, out);
      whole.fallbackFor = dispatch.native->executable;
    }
    addKernel(whole, dispatch, dispatch.kernel, program, out);
  }

  void addKernel(program::Dispatch whole, const ScheduledDispatch &dispatch,
                 const KernelUse &kernel, Program &program, CommandList &out) {
    whole.executable = kernel.executable;
    whole.entry = kernel.entry;
    if (kernel.launches.empty())
      return out.add(whole, {dispatch.results, kernel.inPlace, {}});
    LaunchSlots slots;
    for (const SlotRange &binding : whole.bindings)
      slots.bindings.push_back(binding.slot);
    uint8_t device = program.slots[slots.bindings.front()].device;
    if (!kernel.initLaunches.empty())
      slots.persistent =
          addOnce(whole, dispatch.init, kernel, device, slots, program, out);
    if (kernel.scratch)
      slots.scratch = addSlot(program, {.kind = SlotKind::Transient,
                                        .bytes = kernel.scratch,
                                        .device = device});
    for (uint32_t i = 0; i < kernel.launches.size(); ++i) {
      const Launch &launch = kernel.launches[i];
      program::Dispatch one = launchOf(whole, launch, slots);
      one.entry += i;
      if (kernel.launches.size() > 1)
        one.name += "." + std::to_string(i);
      out.add(std::move(one), notesOf(dispatch, kernel, launch));
    }
  }

  /// Adds what runs once: before the dispatch when that is in the init program
  /// itself, else to its end. Returns the slot of what it writes.
  uint32_t addOnce(const program::Dispatch &whole, bool inInit,
                   const KernelUse &kernel, uint8_t device,
                   const LaunchSlots &slots, Program &program,
                   CommandList &out) {
    Program &init = schedule_.init;
    Slot constant = {.kind = SlotKind::Constant,
                     .index = schedule_.constants++,
                     .bytes = Dim(int64_t(kernel.persistentBytes)),
                     .device = device};
    LaunchSlots inside = slots;
    if (!inInit)
      for (uint32_t &slot : inside.bindings)
        if (program.slots[slot].kind == SlotKind::Weight)
          slot = weightIn(init, program.slots[slot]);
    inside.persistent = addSlot(init, constant);
    for (uint32_t i = 0; i < kernel.initLaunches.size(); ++i) {
      program::Dispatch one = launchOf(whole, kernel.initLaunches[i], inside);
      one.entry += uint32_t(kernel.launches.size()) + i;
      one.name += ".init" + std::to_string(i);
      one.flops.reset(); // those of the launches
      (inInit ? out : once_)
          .add(std::move(one), {0, {}, kernel.initLaunches[i].access});
    }
    schedule_.report.push_back(whole.name + ": makes " +
                               std::to_string(kernel.persistentBytes) +
                               " bytes once, in the init program");
    return inInit ? inside.persistent : addSlot(program, constant);
  }

  static uint32_t addSlot(Program &program, Slot slot) {
    program.slots.push_back(std::move(slot));
    return uint32_t(program.slots.size() - 1);
  }

  static uint32_t weightIn(Program &init, const Slot &weight) {
    for (uint32_t i = 0; i < init.slots.size(); ++i)
      if (init.slots[i].kind == SlotKind::Weight &&
          init.slots[i].index == weight.index &&
          init.slots[i].device == weight.device)
        return i;
    return addSlot(init, weight);
  }

  static program::Dispatch launchOf(const program::Dispatch &whole,
                                    const Launch &launch,
                                    const LaunchSlots &slots) {
    program::Dispatch result = whole;
    result.grid = launch.grid;
    result.workspace = launch.workspace;
    result.parameters = launch.parameters;
    result.sharedBytes = launch.sharedBytes;
    result.cluster = launch.cluster;
    if (!launch.constants)
      result.constants.clear();
    result.bindings.clear();
    for (const Launch::Binding &binding : launch.bindings)
      result.bindings.push_back(
          {slots[binding.binding], binding.offset, binding.length});
    return result;
  }

  /// Whether its bindings are those of the dispatch, in order.
  static bool takesAll(const Launch &launch) {
    for (uint32_t i = 0; i < launch.bindings.size(); ++i)
      if (const Launch::Binding &binding = launch.bindings[i];
          binding.binding != i || binding.offset || binding.length)
        return false;
    return true;
  }

  static CommandNotes notesOf(const ScheduledDispatch &dispatch,
                              const KernelUse &kernel, const Launch &launch) {
    // A native kernel and its fallback both read the inputs.
    if (!dispatch.native && kernel.launches.size() == 1 && takesAll(launch))
      return {dispatch.results, kernel.inPlace, {}};
    return {0, {}, launch.access};
  }

  Schedule &schedule_;
  CommandList once_; ///< what the program has for the end of the init program
};

void renumber(program::Command &command, const std::vector<uint32_t> &numbers) {
  if (auto *dispatch = std::get_if<program::Dispatch>(&command)) {
    for (SlotRange &binding : dispatch->bindings)
      binding.slot = numbers[binding.slot];
  } else if (auto *copy = std::get_if<program::Copy>(&command)) {
    copy->source.slot = numbers[copy->source.slot];
    copy->target.slot = numbers[copy->target.slot];
  } else if (auto *fill = std::get_if<program::Fill>(&command)) {
    fill->target.slot = numbers[fill->target.slot];
  } else if (auto *control = std::get_if<program::Control>(&command)) {
    for (auto *list : {&control->operands, &control->results})
      for (uint32_t &slot : *list)
        slot = numbers[slot];
  } else if (auto *read = std::get_if<program::Read>(&command)) {
    read->slot = numbers[read->slot];
  }
}

/// Weights that launches have no use for: they were baked, or made into
/// something else by the init program.
void dropUnusedWeights(Program &program) {
  std::vector<bool> used(program.slots.size(), false);
  for (const program::Command &command : program.commands)
    for (uint32_t slot : slotsOf(command))
      used[slot] = true;
  std::vector<uint32_t> numbers;
  std::vector<Slot> kept;
  for (size_t i = 0; i < program.slots.size(); ++i) {
    numbers.push_back(uint32_t(kept.size()));
    if (used[i] || program.slots[i].kind != SlotKind::Weight)
      kept.push_back(std::move(program.slots[i]));
  }
  program.slots = std::move(kept);
  for (program::Command &command : program.commands)
    renumber(command, numbers);
}

} // namespace

ScheduleNotes backplane::expandLaunches(Schedule &schedule) {
  ScheduleNotes notes = Expansion(schedule).run();
  dropUnusedWeights(schedule.program);
  dropUnusedWeights(schedule.init);
  return notes;
}
