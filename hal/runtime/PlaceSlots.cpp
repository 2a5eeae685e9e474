// SPDX-License-Identifier: Apache-2.0
#include "PlaceSlots.h"
#include "sdk/schedule/MemoryPlan.h"

#include <algorithm>

namespace backplane::rt {
namespace {

constexpr uint64_t maxBytes = uint64_t(1) << 62;

Status outOfRange(std::string message) {
  return Status(BP_STATUS_OUT_OF_RANGE, std::move(message));
}

class SlotPlacer {
public:
  SlotPlacer(const Program &program, const Evaluator &evaluate,
             const ResolveContext &context, Resolved &resolved)
      : program_(program), evaluate_(evaluate), context_(context),
        resolved_(resolved) {}

  Status run();

private:
  Status findReads();
  Result<SlotPlace> place(const Slot &slot);
  Status placeTransients(const std::vector<uint32_t> &slots, uint32_t device);
  Result<std::vector<int64_t>> planOffsets(const std::vector<uint32_t> &slots,
                                           uint32_t device) const;
  bool hasStaticPlan(const std::vector<uint32_t> &slots, uint32_t device) const;
  Result<uint64_t> greatestBytes(const Dim &dim) const;

  const Program &program_;
  const Evaluator &evaluate_;
  const ResolveContext &context_;
  Resolved &resolved_;
  std::set<std::string> reads_; ///< symbols
  SymbolRanges ranges_;         ///< while there are reads
};

/// The symbols that the program reads, and what they may be.
Status SlotPlacer::findReads() {
  for (const program::Command &command : program_.commands)
    if (const auto *read = std::get_if<program::Read>(&command)) {
      if (reads_.empty())
        ranges_ = rangesOf(evaluate_.values());
      if (Status s = addReadRanges(*read, ranges_); !s.ok())
        return s;
      reads_.insert(read->symbol);
    }
  return {};
}

/// A slot without the place of a transient.
Result<SlotPlace> SlotPlacer::place(const Slot &slot) {
  bool isRead = slot.bytes && !reads_.empty() &&
                !isKnown(*slot.bytes, evaluate_.values());
  std::optional<uint64_t> bytes;
  if (slot.bytes) {
    Result<uint64_t> size =
        isRead ? greatestBytes(*slot.bytes)
               : evaluateWithin(evaluate_, *slot.bytes, maxBytes);
    if (!size)
      return size.status();
    bytes = *size;
  }
  if (slot.kind == SlotKind::Transient)
    return SlotPlace{{nullptr, 0, *bytes, context_.arenaTableSlot}, isRead};
  Result<Binding> found = context_.place(slot);
  if (!found)
    return found.status();
  if (bytes && !isRead && *bytes != found->length)
    return dataLoss("it has " + std::to_string(*bytes) +
                    " bytes, what it names " + std::to_string(found->length));
  return SlotPlace{std::move(*found), isRead};
}

Result<uint64_t> SlotPlacer::greatestBytes(const Dim &dim) const {
  Result<int64_t> most = greatest(dim, ranges_);
  if (!most)
    return most.status();
  if (uint64_t(*most) > maxBytes)
    return outOfRange("'" + dim.str() + "' may be " + std::to_string(*most));
  return uint64_t(*most);
}

Status SlotPlacer::run() {
  if (Status s = findReads(); !s.ok())
    return s;
  resolved_.arenaBytes.assign(context_.sides.size(), 0);
  std::vector<std::vector<uint32_t>> transients(context_.sides.size());
  for (uint32_t i = 0; i < program_.slots.size(); ++i) {
    const Slot &slot = program_.slots[i];
    Result<SlotPlace> found = place(slot);
    if (!found)
      return found.status().within("slot " + std::to_string(i));
    if (slot.kind == SlotKind::Transient)
      transients[slot.device].push_back(i);
    resolved_.places.push_back(std::move(*found));
  }
  for (uint32_t device = 0; device < transients.size(); ++device)
    if (Status s = placeTransients(transients[device], device); !s.ok())
      return s;
  return {};
}

bool SlotPlacer::hasStaticPlan(const std::vector<uint32_t> &slots,
                               uint32_t device) const {
  return program_.arenaBytes(device) >= 0 &&
         context_.sides[device].alignment() <= uint64_t(planAlignment) &&
         std::all_of(slots.begin(), slots.end(), [&](uint32_t slot) {
           return program_.slots[slot].offset >= 0;
         });
}

/// Plans with barriers as time: commands between two of them may overlap.
Result<std::vector<int64_t>>
SlotPlacer::planOffsets(const std::vector<uint32_t> &slots,
                        uint32_t device) const {
  std::vector<uint32_t> barriers = barriersBefore(program_);
  std::map<uint32_t, int32_t> numbers;
  for (uint32_t i = 0; i < slots.size(); ++i)
    numbers[slots[i]] = int32_t(i);
  int64_t unit =
      std::max(int64_t(context_.sides[device].alignment()), planAlignment);
  std::vector<Transient> transients;
  for (uint32_t index : slots) {
    const Slot &slot = program_.slots[index];
    // Sizes in multiples of the device's alignment give offsets that are, too.
    int64_t bytes =
        (int64_t(resolved_.places[index].binding.length) + unit - 1) / unit *
        unit;
    Transient item{bytes, barriers[slot.first], barriers[slot.last]};
    auto operand =
        slot.reuse < 0 ? numbers.end() : numbers.find(uint32_t(slot.reuse));
    if (operand != numbers.end() &&
        program_.slots[operand->first].last == slot.first)
      item.reuse = operand->second;
    transients.push_back(item);
  }
  Result<MemoryPlan> plan = planMemory(transients);
  if (!plan)
    return plan.status();
  return std::move(plan->offsets);
}

/// Places the transients of one device, which are `slots`.
Status SlotPlacer::placeTransients(const std::vector<uint32_t> &slots,
                                   uint32_t device) {
  bool isStatic = hasStaticPlan(slots, device);
  std::vector<int64_t> offsets;
  if (!isStatic) {
    Result<std::vector<int64_t>> planned = planOffsets(slots, device);
    if (!planned)
      return planned.status();
    offsets = std::move(*planned);
  }
  uint64_t &total = resolved_.arenaBytes[device];
  for (size_t i = 0; i < slots.size(); ++i) {
    Binding &place = resolved_.places[slots[i]].binding;
    place.offset =
        uint64_t(isStatic ? program_.slots[slots[i]].offset : offsets[i]);
    total = std::max(total, place.offset + place.length);
  }
  return {};
}

} // namespace

Result<uint64_t> evaluateWithin(const Evaluator &evaluate, const Dim &dim,
                                uint64_t max) {
  Result<int64_t> value = evaluate(dim);
  if (!value)
    return value.status();
  if (*value < 0 || uint64_t(*value) > max)
    return outOfRange("'" + dim.str() + "' is " + std::to_string(*value));
  return uint64_t(*value);
}

Status placeSlots(const Program &program, const Evaluator &evaluate,
                  const ResolveContext &context, Resolved &resolved) {
  return SlotPlacer(program, evaluate, context, resolved).run();
}

} // namespace backplane::rt
