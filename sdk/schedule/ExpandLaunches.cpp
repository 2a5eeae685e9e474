// SPDX-License-Identifier: Apache-2.0
#include "sdk/schedule/ExpandLaunches.h"

using namespace backplane;

namespace {

class Expansion {
public:
  explicit Expansion(Program &program) : program_(program) {}

  void add(program::Command command, const ScheduledDispatch *dispatch) {
    if (!dispatch)
      return add(std::move(command), CommandNotes());
    if (dispatch->launches.empty())
      return add(std::move(command),
                 {dispatch->results, dispatch->inPlace, {}});
    const auto &whole = std::get<program::Dispatch>(command);
    uint32_t scratch = 0;
    if (dispatch->scratch)
      scratch = addScratch(*dispatch->scratch, whole);
    for (uint32_t i = 0; i < dispatch->launches.size(); ++i) {
      program::Dispatch launch =
          launchOf(whole, dispatch->launches[i], scratch);
      launch.entry += i;
      if (dispatch->launches.size() > 1)
        launch.name += "." + std::to_string(i);
      add(std::move(launch), notesOf(*dispatch, dispatch->launches[i]));
    }
  }

  std::vector<CommandNotes> finish() {
    program_.commands = std::move(commands_);
    return std::move(notes_);
  }

private:
  void add(program::Command command, CommandNotes notes) {
    commands_.push_back(std::move(command));
    notes_.push_back(std::move(notes));
  }

  /// The slot of the scratch, where the dispatch runs.
  uint32_t addScratch(const Dim &bytes, const program::Dispatch &dispatch) {
    uint32_t neighbour = dispatch.bindings.front().slot;
    program_.slots.push_back({.kind = SlotKind::Transient,
                              .bytes = bytes,
                              .device = program_.slots[neighbour].device});
    return uint32_t(program_.slots.size() - 1);
  }

  static program::Dispatch launchOf(const program::Dispatch &whole,
                                    const Launch &launch, uint32_t scratch) {
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
          {binding.binding ? whole.bindings[*binding.binding].slot : scratch,
           binding.offset, binding.length});
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
                              const Launch &launch) {
    if (dispatch.launches.size() == 1 && takesAll(launch))
      return {dispatch.results, dispatch.inPlace, {}};
    return {0, {}, launch.access};
  }

  Program &program_;
  std::vector<program::Command> commands_;
  std::vector<CommandNotes> notes_;
};

} // namespace

std::vector<CommandNotes> backplane::expandLaunches(
    Program &program,
    const std::vector<const ScheduledDispatch *> &dispatches) {
  Expansion expansion(program);
  for (size_t i = 0; i < program.commands.size(); ++i)
    expansion.add(std::move(program.commands[i]), dispatches[i]);
  return expansion.finish();
}
