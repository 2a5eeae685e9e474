// SPDX-License-Identifier: Apache-2.0
#include "ProgramPlan.h"

namespace backplane::rt {
namespace {

bool isWork(const Command &command) {
  return !std::holds_alternative<Barrier>(command);
}

/// Records commands; a part between decisions only if it does something.
Status record(Device &device, std::span<const Command> commands,
              ProgramPlan &plan) {
  plan.parts.emplace_back();
  if (!plan.controls.empty() &&
      std::none_of(commands.begin(), commands.end(), isWork))
    return {};
  Result<std::shared_ptr<CommandBuffer>> recorded = device.record(commands);
  if (!recorded)
    return recorded.status();
  plan.parts.back() = std::move(*recorded);
  return {};
}

} // namespace

Result<ProgramPlan> planProgram(Device &device, const fb::Program &program,
                                Evaluator &evaluator,
                                const ResolveContext &context) {
  Result<Resolved> resolved = resolveProgram(program, evaluator, context);
  if (!resolved)
    return resolved.status();
  ProgramPlan plan;
  plan.arenaBytes = resolved->arenaBytes;
  plan.controls = std::move(resolved->controls);
  std::span<const Command> commands = resolved->commands;
  size_t from = 0;
  for (const ResolvedControl &control : plan.controls) {
    if (Status s = record(
            device, commands.subspan(from, control.position - from), plan);
        !s.ok())
      return s;
    from = control.position;
  }
  if (Status s = record(device, commands.subspan(from), plan); !s.ok())
    return s;
  return plan;
}

} // namespace backplane::rt
