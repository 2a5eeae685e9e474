// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/Placement.h"

#include "sdk/schedule/MemoryPlan.h"

#include <algorithm>
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
  } else if (const auto *control = command.body.AsControl()) {
    access.reads = control->operands;
    access.writes = control->results;
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

std::unique_ptr<fb::CommandT> barrier() {
  auto command = std::make_unique<fb::CommandT>();
  command->body.Set(fb::BarrierT());
  return command;
}

/// Works on one program.
class Placer {
public:
  Placer(fb::ProgramT &program, const std::vector<CommandNotes> &notes,
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
    return program_.slots[slot]->kind == fb::SlotKind::Transient;
  }
  void reuseOperand(const Item &item);
  bool mayReplace(uint32_t operand, uint32_t result, const Item &item) const;
  bool isReadInPlace(uint32_t operand, const Item &item) const;
  Status placeTransients();
  Status planDevice(unsigned device, std::string &obstacle);
  Result<std::vector<Transient>>
  greatestSizes(const std::vector<uint32_t> &slots, bool &symbolic,
                std::string &obstacle) const;
  void explain(const MemoryPlan &plan, unsigned device, size_t count,
               bool symbolic);

  fb::ProgramT &program_;
  const std::vector<CommandNotes> &notes_;
  const SymbolRanges &ranges_;
  std::vector<std::string> &report_;
  std::vector<Item> items_;
  std::vector<uint32_t> segment_;            ///< barriers before each command
  std::vector<std::vector<uint32_t>> users_; ///< commands of each slot
};

void Placer::addBarriers() {
  std::vector<std::unique_ptr<fb::CommandT>> commands;
  Hazards hazards;
  uint32_t barriers = 0;
  for (size_t i = 0; i < program_.commands.size(); ++i) {
    Access access = accessOf(*program_.commands[i], notes_[i].results);
    if (hazards.conflicts(access)) {
      commands.push_back(barrier());
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
      fb::SlotT &info = *program_.slots[slot];
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
  const auto &dispatch = *program_.commands[item.command]->body.AsDispatch();
  for (uint32_t i = 0; i + 1 < dispatch.bindings.size(); ++i)
    if (dispatch.bindings[i]->slot == operand &&
        std::find(item.notes.inPlace.begin(), item.notes.inPlace.end(), i) ==
            item.notes.inPlace.end())
      return false;
  return true;
}

/// Whether the operand dies here, no command that may run at the same time
/// needs it, and the result has its size.
bool Placer::mayReplace(uint32_t operand, uint32_t result,
                        const Item &item) const {
  const fb::SlotT &old = *program_.slots[operand];
  const fb::SlotT &fresh = *program_.slots[result];
  if (!isTransient(operand) || old.last != item.command ||
      fresh.first != item.command || old.bytes != fresh.bytes)
    return false;
  for (uint32_t user : users_[operand])
    if (user != item.command && segment_[user] == segment_[item.command])
      return false;
  return isReadInPlace(operand, item);
}

void Placer::reuseOperand(const Item &item) {
  const auto *dispatch = program_.commands[item.command]->body.AsDispatch();
  if (!dispatch || item.notes.results != 1 || item.notes.inPlace.empty())
    return;
  uint32_t result = dispatch->bindings.back()->slot;
  if (!isTransient(result))
    return;
  for (uint32_t binding : item.notes.inPlace) {
    uint32_t operand = dispatch->bindings[binding]->slot;
    if (!mayReplace(operand, result, item))
      continue;
    program_.slots[result]->reuse = int32_t(operand);
    report_.push_back(dispatch->name + ": its result takes the place of " +
                      "operand " + std::to_string(binding) + ", " +
                      program_.slots[result]->bytes +
                      " bytes that nothing else needs any more");
    return;
  }
}

/// What the planner gets for these slots. `obstacle` says why there are no
/// sizes, if so; `symbolic` whether any depends on symbols.
Result<std::vector<Transient>>
Placer::greatestSizes(const std::vector<uint32_t> &slots, bool &symbolic,
                      std::string &obstacle) const {
  std::vector<Transient> transients;
  std::map<uint32_t, int32_t> numbers;
  for (uint32_t i : slots) {
    const fb::SlotT &slot = *program_.slots[i];
    auto bytes = Dim::parse(slot.bytes);
    if (!bytes)
      return bytes.status();
    symbolic |= !bytes->constant();
    std::optional<Interval> bounds = bytes->bounds(ranges_);
    if (!bounds)
      obstacle = "a transient of " + slot.bytes + " bytes has no greatest size";
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
    if (isTransient(i) && program_.slots[i]->device == device)
      slots.push_back(i);
  bool symbolic = false;
  auto transients = greatestSizes(slots, symbolic, obstacle);
  if (!transients)
    return transients.status();
  auto plan = planMemory(*transients);
  if (!plan && !symbolic)
    return plan.status();
  if (obstacle.empty() && symbolic &&
      (!plan || plan->arenaBytes > mostPlannedBytes))
    obstacle = "the greatest sizes of the symbols would need more than " +
               std::to_string(mostPlannedBytes) + " bytes";
  if (!obstacle.empty())
    return {};
  for (size_t i = 0; i < slots.size(); ++i)
    program_.slots[slots[i]]->offset = plan->offsets[i];
  (device ? program_.arenas[device - 1] : program_.arena_bytes) =
      plan->arenaBytes;
  if (!slots.empty())
    explain(*plan, device, slots.size(), symbolic);
  return {};
}

/// All devices or none have a plan.
Status Placer::placeTransients() {
  unsigned devices = 1;
  for (const auto &slot : program_.slots)
    devices = std::max(devices, slot->device + 1u);
  program_.arenas.assign(devices - 1, -1);
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
  program_.arena_bytes = -1;
  program_.arenas.assign(devices - 1, -1);
  for (const auto &slot : program_.slots)
    slot->offset = -1;
  return {};
}

} // namespace

Status backplane::place(fb::ProgramT &program,
                        const std::vector<CommandNotes> &notes,
                        const SymbolRanges &ranges,
                        std::vector<std::string> &report) {
  return Placer(program, notes, ranges, report).run();
}
