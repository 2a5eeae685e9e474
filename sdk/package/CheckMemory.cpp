// SPDX-License-Identifier: Apache-2.0
//
// CheckMemory.cpp: that commands use transients while these have their memory,
// and that what overlaps in the arena is never alive at the same time.
#include "Check.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace backplane {
namespace {

Status bad(std::string message) { return dataLoss(std::move(message)); }

/// A transient whose place in the arena is known at compile time.
struct Placed {
  uint32_t first, last; ///< in barriers passed, as commands between two may
                        ///< run at once
  int64_t begin, end;   ///< bytes of the arena
  uint32_t slot;
  const Slot *info;
};

/// Whether `later` may have the bytes of `earlier`.
bool takesPlace(const Placed &later, const Placed &earlier) {
  return later.info->reuse == int64_t(earlier.slot) &&
         later.begin == earlier.begin &&
         later.info->first == earlier.info->last;
}

bool collide(const Placed &a, const Placed &b) {
  return a.info->device == b.info->device && a.begin < b.end &&
         b.begin < a.end && !takesPlace(a, b) && !takesPlace(b, a);
}

/// The transients that are alive at one time, by their places.
class Alive {
public:
  /// Forgets those that were used last before this time.
  void passTo(uint32_t time) {
    for (; !ends_.empty() && ends_.begin()->first < time;
         ends_.erase(ends_.begin()))
      places_.erase(ends_.begin()->second);
  }
  /// One that is in the way of `next`. As those that are alive do not overlap
  /// unless they begin at the same byte, only the nearest before it can reach
  /// into it.
  const Placed *collision(const Placed &next) const {
    auto at = places_.lower_bound(keyOf(next));
    if (at != places_.begin())
      at = places_.lower_bound(std::prev(at)->first);
    for (; at != places_.end() &&
           at->first < std::pair(next.info->device, next.end);
         ++at)
      if (collide(next, *at->second))
        return at->second;
    return nullptr;
  }
  void add(const Placed &placed) {
    ends_.emplace(placed.last, places_.emplace(keyOf(placed), &placed));
  }

private:
  using Key = std::pair<uint8_t, int64_t>; ///< device and first byte
  using Places = std::multimap<Key, const Placed *>;
  static Key keyOf(const Placed &placed) {
    return {placed.info->device, placed.begin};
  }

  Places places_;
  std::multimap<uint32_t, Places::iterator> ends_;
};

/// Two slots that share bytes while both are alive, if there are any.
std::optional<std::pair<uint32_t, uint32_t>>
findOverlap(std::vector<Placed> placed) {
  std::erase_if(placed, [](const Placed &p) { return p.begin == p.end; });
  std::sort(placed.begin(), placed.end(), [](const auto &a, const auto &b) {
    return std::tie(a.first, a.slot) < std::tie(b.first, b.slot);
  });
  Alive alive;
  for (const Placed &next : placed) {
    alive.passTo(next.first);
    if (const Placed *old = alive.collision(next))
      return std::pair(old->slot, next.slot);
    alive.add(next);
  }
  return std::nullopt;
}

/// The lifetimes that slots state against the commands.
class Uses {
public:
  explicit Uses(const Program &program)
      : program_(program), barriers_(barriersBefore(program)),
        alone_(program.slots.size(), true) {}

  Status run() {
    for (uint32_t i = 0; i < program_.commands.size(); ++i)
      for (uint32_t slot : slotsOf(program_.commands[i]))
        if (Status s = checkUse(slot, i); !s.ok())
          return s;
    for (uint32_t i = 0; i < program_.slots.size(); ++i)
      if (Status s = checkReuse(program_.slots[i]); !s.ok())
        return s.within("slot " + std::to_string(i));
    return {};
  }

private:
  Status checkUse(uint32_t number, uint32_t command) {
    const Slot &slot = program_.slots[number];
    if (slot.kind != SlotKind::Transient)
      return {};
    if (command < slot.first || command > slot.last)
      return bad("command " + std::to_string(command) + " uses slot " +
                 std::to_string(number) + ", which lives from command " +
                 std::to_string(slot.first) + " to " +
                 std::to_string(slot.last));
    if (command != slot.last && barriers_[command] == barriers_[slot.last])
      alone_[number] = false;
    return {};
  }

  /// Whoever runs beside the last user of a slot must not see its successor.
  Status checkReuse(const Slot &slot) {
    if (slot.kind != SlotKind::Transient || slot.reuse < 0)
      return {};
    const Slot &old = program_.slots[uint32_t(slot.reuse)];
    if (old.kind == SlotKind::Transient && old.last == slot.first &&
        !alone_[uint32_t(slot.reuse)])
      return bad("it reuses slot " + std::to_string(slot.reuse) +
                 ", which another command between the same barriers uses");
    return {};
  }

  const Program &program_;
  std::vector<uint32_t> barriers_;
  std::vector<bool> alone_; ///< slots whose last user runs beside no other
};

} // namespace

Status ProgramChecker::checkMemory() {
  if (Status s = Uses(program).run(); !s.ok())
    return s;
  std::vector<uint32_t> barriers = barriersBefore(program);
  std::vector<Placed> placed;
  for (uint32_t i = 0; i < program.slots.size(); ++i) {
    const Slot &slot = program.slots[i];
    if (slot.kind == SlotKind::Transient && slot.offset >= 0)
      placed.push_back({barriers[slot.first], barriers[slot.last], slot.offset,
                        slot.offset + *slotLimits[i], i, &slot});
  }
  if (auto pair = findOverlap(std::move(placed)))
    return bad("slots " + std::to_string(pair->first) + " and " +
               std::to_string(pair->second) + " overlap while both are in use");
  return {};
}

} // namespace backplane
