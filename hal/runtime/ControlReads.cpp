// SPDX-License-Identifier: Apache-2.0
//
// ControlReads.cpp: what the host reads in the middle of a program: sizes that
// data decide, and predicates.
#include "ControlRunner.h"

namespace backplane::rt {
namespace {

/// Plans of what follows reads that one tuple of shapes keeps.
constexpr size_t maxRestPlans = 16;

} // namespace

SlotBinding memoryOf(const Binding &binding,
                     std::span<const SlotBinding> table) {
  SlotBinding base = binding.buffer ? SlotBinding{binding.buffer.get(), 0, 0}
                                    : table[binding.slot];
  return {base.buffer, base.offset + binding.offset, binding.length};
}

Status ControlRunner::run(const ProgramPlan &plan, const Program &program,
                          const Tables &tables) {
  std::shared_ptr<const ProgramPlan> rest;
  for (const ProgramPlan *next = &plan;; next = rest.get()) {
    if (Status s = runProgram(*next, program, tables, 0); !s.ok())
      return s;
    if (!next->read)
      return {};
    if (Status s = define(*next->read, tables); !s.ok())
      return s.within(next->read->read->op);
    auto found = restOf(*next, program);
    if (!found)
      return found.status();
    rest = std::move(*found);
  }
}

/// Gives the symbol of a read its value.
Status ControlRunner::define(const ResolvedRead &read, const Tables &tables) {
  int64_t value = 0;
  std::span bytes(reinterpret_cast<uint8_t *>(&value), sizeof(value));
  SlotBinding memory = memoryOf(read.source, tables[read.device]);
  if (memory.length != bytes.size())
    return dataLoss("it reads a size of " + std::to_string(memory.length) +
                    " bytes, not of 8");
  if (Status s = memory.buffer->read(memory.offset, bytes); !s.ok())
    return s;
  return context_.signature.define(*read.read, value,
                                   context_.evaluator.values());
}

Result<std::shared_ptr<const ProgramPlan>>
ControlRunner::restOf(const ProgramPlan &plan, const Program &program) {
  std::pair<size_t, std::vector<int64_t>> key{plan.read->next, {}};
  for (size_t i = 0; i < plan.read->next; ++i)
    if (const auto *read = std::get_if<program::Read>(&program.commands[i]))
      key.second.push_back(context_.evaluator.values().at(read->symbol));
  if (auto known = context_.rests.find(key); known != context_.rests.end())
    return known->second;
  auto portCount = uint32_t(context_.ports.bytes.size());
  ResolveContext context{context_.executables, context_.resident, portCount,
                         context_.sides};
  Result<ProgramPlan> rest =
      planRest(program, context_.evaluator, context, context_.ports, plan);
  if (!rest)
    return rest.status();
  if (context_.rests.size() >= maxRestPlans)
    context_.rests.clear();
  auto kept = std::make_shared<const ProgramPlan>(std::move(*rest));
  context_.rests[std::move(key)] = kept;
  return kept;
}

Result<bool> ControlRunner::predicate(const SlotBinding &memory) {
  uint8_t byte = 0;
  if (memory.length != 1)
    return dataLoss("its predicate has " + std::to_string(memory.length) +
                    " bytes, not 1");
  if (Status s = memory.buffer->read(memory.offset, {&byte, 1}); !s.ok())
    return s;
  return byte != 0;
}

} // namespace backplane::rt
