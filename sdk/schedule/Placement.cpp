// SPDX-License-Identifier: Apache-2.0
#include "sdk/schedule/Placement.h"

#include "backplane/hal.h"
#include "sdk/schedule/MemoryPlan.h"

#include <algorithm>
#include <set>

using namespace backplane;

namespace {

/// Slots that a command reads and writes.
struct Access {
  std::vector<uint32_t> reads, writes;
};

Access accessOf(const program::Dispatch &dispatch, const CommandNotes &notes) {
  Access access;
  size_t inputs = dispatch.bindings.size() - notes.results;
  for (size_t i = 0; i < dispatch.bindings.size(); ++i) {
    unsigned how = i < inputs ? BP_ACCESS_READ : BP_ACCESS_WRITE;
    if (!notes.access.empty())
      how = notes.access[i];
    if (how & BP_ACCESS_READ)
      access.reads.push_back(dispatch.bindings[i].slot);
    if (how & BP_ACCESS_WRITE)
      access.writes.push_back(dispatch.bindings[i].slot);
  }
  return access;
}

Access accessOf(const program::Command &command, const CommandNotes &notes) {
  Access access;
  if (const auto *dispatch = std::get_if<program::Dispatch>(&command)) {
    return accessOf(*dispatch, notes);
  } else if (const auto *copy = std::get_if<program::Copy>(&command)) {
    access.reads.push_back(copy->source.slot);
    access.writes.push_back(copy->target.slot);
  } else if (const auto *fill = std::get_if<program::Fill>(&command)) {
    access.writes.push_back(fill->target.slot);
  } else if (const auto *control = std::get_if<program::Control>(&command)) {
    access.reads = control->operands;
    access.writes = control->results;
  } else if (const auto *read = std::get_if<program::Read>(&command)) {
    access.reads.push_back(read->slot);
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

/// Works on one program.
class Placer {
public:
  Placer(Program &program, const std::vector<CommandNotes> &notes,
         const SymbolRanges &ranges, std::vector<std::string> &report)
      : program_(program), notes_(notes), ranges_(ranges), report_(report),
        users_(program.slots.size()) {}

  Status run() {
    addBarriers();
    for (const Item &item : items_)
      reuseOperand(item);
    return placeTransients();
  }

private:
  /// A command that is no barrier.
  struct Item {
    uint32_t command;
    const CommandNotes &notes;
  };

  void addBarriers();
  void touch(const Access &access, uint32_t command);
  bool isTransient(uint32_t slot) const {
    return program_.slots[slot].kind == SlotKind::Transient;
  }
  void reuseOperand(const Item &item);
  bool mayReplace(uint32_t operand, uint32_t result, const Item &item) const;
  bool isReadInPlace(uint32_t operand, const Item &item) const;
  Status placeTransients();
  Status planDevice(unsigned device, std::string &obstacle);
  std::vector<Transient> greatestSizes(const std::vector<uint32_t> &slots,
                                       bool &symbolic,
                                       std::string &obstacle) const;
  void explain(const MemoryPlan &plan, unsigned device, size_t count,
               bool symbolic);

  Program &program_;
  const std::vector<CommandNotes> &notes_;
  const SymbolRanges &ranges_;
  std::vector<std::string> &report_;
  std::vector<Item> items_;
  std::vector<uint32_t> segment_;            ///< barriers before each command
  std::vector<std::vector<uint32_t>> users_; ///< commands of each slot
};

void Placer::addBarriers() {
  std::vector<program::Command> commands;
  Hazards hazards;
  uint32_t barriers = 0;
  for (size_t i = 0; i < program_.commands.size(); ++i) {
    Access access = accessOf(program_.commands[i], notes_[i]);
    if (hazards.conflicts(access)) {
      commands.push_back(program::Barrier());
      segment_.push_back(barriers++);
      hazards.clear();
    }
    hazards.add(access);
    touch(access, uint32_t(commands.size()));
    items_.push_back({uint32_t(commands.size()), notes_[i]});
    segment_.push_back(barriers);
    commands.push_back(std::move(program_.commands[i]));
  }
  program_.commands = std::move(commands);
}

void Placer::touch(const Access &access, uint32_t command) {
  for (const auto *list : {&access.reads, &access.writes})
    for (uint32_t slot : *list) {
      Slot &info = program_.slots[slot];
      if (isTransient(slot)) {
        info.first = users_[slot].empty() ? command : info.first;
        info.last = command;
      }
      users_[slot].push_back(command);
    }
}

/// Whether the kernel lets its result have the memory of this operand, by
/// whichever bindings it gets it.
bool Placer::isReadInPlace(uint32_t operand, const Item &item) const {
  const auto &dispatch =
      std::get<program::Dispatch>(program_.commands[item.command]);
  for (uint32_t i = 0; i + 1 < dispatch.bindings.size(); ++i)
    if (dispatch.bindings[i].slot == operand &&
        std::find(item.notes.inPlace.begin(), item.notes.inPlace.end(), i) ==
            item.notes.inPlace.end())
      return false;
  return true;
}

/// Whether the operand dies here, no command that may run at the same time
/// needs it, and the result has its size.
bool Placer::mayReplace(uint32_t operand, uint32_t result,
                        const Item &item) const {
  const Slot &old = program_.slots[operand];
  const Slot &fresh = program_.slots[result];
  if (!isTransient(operand) || old.last != item.command ||
      fresh.first != item.command || old.bytes != fresh.bytes)
    return false;
  for (uint32_t user : users_[operand])
    if (user != item.command && segment_[user] == segment_[item.command])
      return false;
  return isReadInPlace(operand, item);
}

void Placer::reuseOperand(const Item &item) {
  const auto *dispatch =
      std::get_if<program::Dispatch>(&program_.commands[item.command]);
  if (!dispatch || item.notes.results != 1 || item.notes.inPlace.empty())
    return;
  uint32_t result = dispatch->bindings.back().slot;
  if (!isTransient(result))
    return;
  for (uint32_t binding : item.notes.inPlace) {
    uint32_t operand = dispatch->bindings[binding].slot;
    if (!mayReplace(operand, result, item))
      continue;
    program_.slots[result].reuse = int32_t(operand);
    report_.push_back(dispatch->name + ": its result takes the place of " +
                      "operand " + std::to_string(binding) + ", " +
                      program_.slots[result].bytes->str() +
                      " bytes that nothing else needs any more");
    return;
  }
}

/// What the planner gets for these slots. `obstacle` says why there are no
/// sizes, if so; `symbolic` whether any depends on symbols.
std::vector<Transient> Placer::greatestSizes(const std::vector<uint32_t> &slots,
                                             bool &symbolic,
                                             std::string &obstacle) const {
  std::vector<Transient> transients;
  std::map<uint32_t, int32_t> numbers;
  for (uint32_t i : slots) {
    const Slot &slot = program_.slots[i];
    symbolic |= !slot.bytes->constant();
    std::optional<Interval> bounds = slot.bytes->bounds(ranges_);
    if (!bounds)
      obstacle =
          "a transient of " + slot.bytes->str() + " bytes has no greatest size";
    auto operand = numbers.find(uint32_t(slot.reuse));
    numbers[i] = int32_t(transients.size());
    transients.push_back({bounds ? std::max<int64_t>(bounds->high, 0) : 0,
                          segment_[slot.first], segment_[slot.last],
                          operand == numbers.end() ? -1 : operand->second});
  }
  return transients;
}

void Placer::explain(const MemoryPlan &plan, unsigned device, size_t count,
                     bool symbolic) {
  report_.push_back(
      "memory" + (device ? " of device " + std::to_string(device) : "") + ": " +
      std::to_string(count) + " transients in an arena of " +
      std::to_string(plan.arenaBytes) + " bytes" +
      (symbolic ? ", at the greatest sizes of the symbols" : ""));
}

/// Places the transients of one device, unless `obstacle` then says why not.
Status Placer::planDevice(unsigned device, std::string &obstacle) {
  std::vector<uint32_t> slots;
  for (uint32_t i = 0; i < program_.slots.size(); ++i)
    if (isTransient(i) && program_.slots[i].device == device)
      slots.push_back(i);
  bool symbolic = false;
  auto plan = planMemory(greatestSizes(slots, symbolic, obstacle));
  if (!plan && !symbolic)
    return plan.status();
  if (obstacle.empty() && symbolic &&
      (!plan || plan->arenaBytes > maxPlannedBytes))
    obstacle = "the greatest sizes of the symbols would need more than " +
               std::to_string(maxPlannedBytes) + " bytes";
  if (!obstacle.empty())
    return {};
  for (size_t i = 0; i < slots.size(); ++i)
    program_.slots[slots[i]].offset = plan->offsets[i];
  program_.arenas[device] = plan->arenaBytes;
  if (!slots.empty())
    explain(*plan, device, slots.size(), symbolic);
  return {};
}

/// All devices or none have a plan.
Status Placer::placeTransients() {
  unsigned devices = 1;
  for (const Slot &slot : program_.slots)
    devices = std::max(devices, slot.device + 1u);
  program_.arenas.assign(devices, -1);
  size_t reasons = report_.size();
  std::string obstacle;
  for (unsigned device = 0; device < devices && obstacle.empty(); ++device)
    if (Status s = planDevice(device, obstacle); !s.ok())
      return s;
  if (obstacle.empty())
    return {};
  report_.resize(reasons);
  report_.push_back("memory: planned for the shapes of each call, as " +
                    obstacle);
  program_.arenas.assign(devices, -1);
  for (Slot &slot : program_.slots)
    slot.offset = -1;
  return {};
}

} // namespace

Status backplane::place(Program &program,
                        const std::vector<CommandNotes> &notes,
                        const SymbolRanges &ranges,
                        std::vector<std::string> &report) {
  return Placer(program, notes, ranges, report).run();
}
