// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/Placement.h"

#include "sdk/schedule/MemoryPlan.h"

#include <set>

using namespace backplane;

namespace {

/// Slots that a command reads and writes.
struct Access {
  std::vector<uint32_t> reads, writes;
};

Access accessOf(const fb::CommandT &command, size_t results) {
  Access access;
  if (const auto *dispatch = command.body.AsDispatch()) {
    size_t inputs = dispatch->bindings.size() - results;
    for (size_t i = 0; i < dispatch->bindings.size(); ++i)
      (i < inputs ? access.reads : access.writes)
          .push_back(dispatch->bindings[i]->slot);
  } else if (const auto *copy = command.body.AsCopy()) {
    access.reads.push_back(copy->source->slot);
    access.writes.push_back(copy->target->slot);
  } else if (const auto *fill = command.body.AsFill()) {
    access.writes.push_back(fill->target->slot);
  }
  return access;
}

/// What happened since the last barrier.
class Hazards {
public:
  bool conflicts(const Access &access) const {
    for (uint32_t slot : access.reads)
      if (written_.contains(slot))
        return true;
    for (uint32_t slot : access.writes)
      if (written_.contains(slot) || read_.contains(slot))
        return true;
    return false;
  }
  void add(const Access &access) {
    read_.insert(access.reads.begin(), access.reads.end());
    written_.insert(access.writes.begin(), access.writes.end());
  }
  void clear() {
    read_.clear();
    written_.clear();
  }

private:
  std::set<uint32_t> read_, written_;
};

void touch(fb::SlotT &slot, uint32_t command, std::set<uint32_t> &seen,
           uint32_t id) {
  if (slot.kind != fb::SlotKind::Transient)
    return;
  if (seen.insert(id).second)
    slot.first = command;
  slot.last = command;
}

std::unique_ptr<fb::CommandT> barrier() {
  auto command = std::make_unique<fb::CommandT>();
  command->body.Set(fb::BarrierT());
  return command;
}

/// Offsets of all transients when their sizes are known; `segment` is the
/// number of barriers before each command.
Status placeTransients(fb::ProgramT &program,
                       const std::vector<uint32_t> &segment) {
  std::vector<Transient> transients;
  std::vector<fb::SlotT *> slots;
  for (auto &slot : program.slots) {
    if (slot->kind != fb::SlotKind::Transient)
      continue;
    auto bytes = Dim::parse(slot->bytes);
    if (!bytes)
      return bytes.status();
    if (!bytes->constant())
      return {}; // the runtime plans
    transients.push_back(
        {*bytes->constant(), segment[slot->first], segment[slot->last]});
    slots.push_back(slot.get());
  }
  auto plan = planMemory(transients);
  if (!plan)
    return plan.status();
  for (size_t i = 0; i < slots.size(); ++i)
    slots[i]->offset = plan->offsets[i];
  program.arena_bytes = plan->arenaBytes;
  return {};
}

} // namespace

Result<std::vector<size_t>>
backplane::place(fb::ProgramT &program, const std::vector<size_t> &results) {
  std::vector<std::unique_ptr<fb::CommandT>> commands;
  std::vector<size_t> moved;
  std::vector<uint32_t> segment;
  std::set<uint32_t> seen;
  Hazards hazards;
  uint32_t barriers = 0;
  for (size_t i = 0; i < program.commands.size(); ++i) {
    Access access = accessOf(*program.commands[i], results[i]);
    if (hazards.conflicts(access)) {
      commands.push_back(barrier());
      segment.push_back(barriers++);
      hazards.clear();
    }
    hazards.add(access);
    uint32_t index = uint32_t(commands.size());
    for (const auto *list : {&access.reads, &access.writes})
      for (uint32_t slot : *list)
        touch(*program.slots[slot], index, seen, slot);
    moved.push_back(index);
    segment.push_back(barriers);
    commands.push_back(std::move(program.commands[i]));
  }
  program.commands = std::move(commands);
  if (auto status = placeTransients(program, segment); !status.ok())
    return status;
  return moved;
}
