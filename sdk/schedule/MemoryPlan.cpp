// SPDX-License-Identifier: Apache-2.0
#include "Timeline.h"

#include <algorithm>
#include <numeric>

namespace backplane {
namespace {

constexpr int64_t maxArena = int64_t(1) << 62;

int64_t aligned(int64_t bytes) {
  return (bytes + planAlignment - 1) / planAlignment * planAlignment;
}

Status check(std::span<const Transient> transients) {
  int64_t total = 0;
  for (size_t i = 0; i < transients.size(); ++i) {
    const Transient &t = transients[i];
    std::string name = "transient " + std::to_string(i);
    if (t.bytes < 0 || t.bytes > maxArena - planAlignment ||
        total > maxArena - aligned(t.bytes))
      return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                    name + " of " + std::to_string(t.bytes) +
                        " bytes makes the arena larger than 2^62 bytes");
    total += aligned(t.bytes);
    if (t.last < t.first)
      return invalidArgument(name + " is used last at " +
                             std::to_string(t.last) + ", before its first use");
    if (t.reuse < -1 || t.reuse >= int64_t(transients.size()))
      return invalidArgument(name + " names transient " +
                             std::to_string(t.reuse) + ", of " +
                             std::to_string(transients.size()));
  }
  return {};
}

/// Transients that are alive together are looked through for a gap up to this
/// number, so that planning takes time in proportion to the transients.
constexpr size_t maxSearched = 1000;

/// Places transients one after the other, largest first.
class Planner {
public:
  explicit Planner(std::span<const Transient> transients)
      : transients_(transients), placed_(transients),
        offsets_(transients.size(), -1), rank_(transients.size()) {}

  MemoryPlan run() {
    size_t rank = 0;
    for (size_t i : order()) {
      rank_[i] = rank++;
      place(i);
    }
    return {std::move(offsets_), arena_};
  }

private:
  std::vector<size_t> order() const {
    std::vector<size_t> order(transients_.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const Transient &x = transients_[a], &y = transients_[b];
      if (aligned(x.bytes) != aligned(y.bytes))
        return x.bytes > y.bytes;
      return x.first != y.first ? x.first < y.first : a < b;
    });
    return order;
  }

  /// Whether `a` may lie at the place of `b`, from its first byte on.
  bool takesPlace(size_t a, size_t b) const {
    const Transient &x = transients_[a], &y = transients_[b];
    return x.reuse == int64_t(b) && y.last == x.first && a != b;
  }
  bool mayShare(size_t a, size_t b) const {
    return takesPlace(a, b) || takesPlace(b, a);
  }
  int64_t endOf(size_t i) const {
    return offsets_[i] + aligned(transients_[i].bytes);
  }

  /// Whether transient `i` at `offset` meets none of those that are alive with
  /// it.
  bool fits(size_t i, int64_t offset,
            const std::vector<size_t> &meeting) const {
    int64_t end = offset + aligned(transients_[i].bytes);
    return std::ranges::none_of(meeting, [&](size_t other) {
      bool inPlace = mayShare(i, other) && offsets_[other] == offset;
      return offsets_[other] < end && endOf(other) > offset && !inPlace;
    });
  }

  /// The place of the operand or result that `i` shares memory with, if both
  /// may.
  int64_t sharedOffset(size_t i, const std::vector<size_t> &meeting) const {
    for (size_t other : meeting)
      if (mayShare(i, other) && fits(i, offsets_[other], meeting))
        return offsets_[other];
    return -1;
  }

  /// The start of the smallest gap that takes `i`, else the end of what is in
  /// the way.
  int64_t bestGap(size_t i, const std::vector<size_t> &meeting) const {
    int64_t bytes = aligned(transients_[i].bytes);
    int64_t end = 0, best = -1, bestSize = maxArena;
    for (size_t other : meeting) {
      int64_t gap = offsets_[other] - end;
      if (gap >= bytes && gap < bestSize) {
        best = end;
        bestSize = gap;
      }
      end = std::max(end, endOf(other));
    }
    return best >= 0 ? best : end;
  }

  int64_t offsetOf(size_t i) const {
    auto meeting = placed_.meeting(transients_[i], maxSearched);
    if (!meeting)
      return placed_.endOfMeeting(transients_[i]);
    std::ranges::sort(*meeting, [&](size_t a, size_t b) {
      return std::pair(offsets_[a], rank_[a]) <
             std::pair(offsets_[b], rank_[b]);
    });
    int64_t shared = sharedOffset(i, *meeting);
    return shared >= 0 ? shared : bestGap(i, *meeting);
  }

  void place(size_t i) {
    offsets_[i] = offsetOf(i);
    arena_ = std::max(arena_, endOf(i));
    placed_.add(i, transients_[i], endOf(i));
  }

  std::span<const Transient> transients_;
  Timeline placed_;
  std::vector<int64_t> offsets_;
  std::vector<size_t> rank_; ///< when each was placed
  int64_t arena_ = 0;
};

} // namespace

Result<MemoryPlan> planMemory(std::span<const Transient> transients) {
  if (Status status = check(transients); !status.ok())
    return status;
  return Planner(transients).run();
}

} // namespace backplane
