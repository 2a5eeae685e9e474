// SPDX-License-Identifier: Apache-2.0
//
// Timeline.h: transients that have a place, found by the times at which they
// are alive: a segment tree.
#ifndef BACKPLANE_SCHEDULE_TIMELINE_H
#define BACKPLANE_SCHEDULE_TIMELINE_H

#include "MemoryPlan.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>

namespace backplane {

class Timeline {
public:
  explicit Timeline(std::span<const Transient> transients) {
    for (const Transient &t : transients)
      times_.insert(times_.end(), {t.first, t.last});
    std::sort(times_.begin(), times_.end());
    times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
    leaves_ = std::bit_ceil(times_.size() + 1);
    nodes_.resize(2 * leaves_);
  }

  /// Adds a transient, by its number, whose place ends at `end`.
  void add(size_t number, const Transient &t, int64_t end) {
    forEachPart(t, [&](size_t i) {
      nodes_[i].alive.push_back(number);
      nodes_[i].aliveEnd = std::max(nodes_[i].aliveEnd, end);
      nodes_[i].end = std::max(nodes_[i].end, end);
    });
    for (uint32_t time : {t.first, t.last})
      forEachAround(time, [&](size_t i) {
        nodes_[i].end = std::max(nodes_[i].end, end);
      });
    starts_.emplace(t.first, number);
  }

  /// Those that are alive at a time at which `t` is; none when there are more
  /// than `most`.
  std::optional<std::vector<size_t>> meeting(const Transient &t,
                                             size_t most) const {
    std::vector<size_t> found;
    forEachAround(t.first, [&](size_t i) {
      if (found.size() <= most)
        found.insert(found.end(), nodes_[i].alive.begin(),
                     nodes_[i].alive.end());
    });
    for (auto at = starts_.upper_bound({t.first, SIZE_MAX});
         at != starts_.end() && at->first <= t.last && found.size() <= most;
         ++at)
      found.push_back(at->second);
    return found.size() <= most ? std::optional(std::move(found))
                                : std::nullopt;
  }

  /// Where the last of those ends.
  int64_t endOfMeeting(const Transient &t) const {
    int64_t end = 0;
    for (uint32_t time : {t.first, t.last})
      forEachAround(time,
                    [&](size_t i) { end = std::max(end, nodes_[i].aliveEnd); });
    forEachPart(t, [&](size_t i) { end = std::max(end, nodes_[i].end); });
    return end;
  }

private:
  struct Node {
    std::vector<size_t> alive; ///< at all times of this node, in no parent's
    int64_t aliveEnd = 0;      ///< of these
    int64_t end = 0;           ///< of all that are alive at any of its times
  };

  size_t leafOf(uint32_t time) const {
    return leaves_ +
           size_t(std::lower_bound(times_.begin(), times_.end(), time) -
                  times_.begin());
  }
  /// The fewest nodes that make up a lifetime.
  template <typename Visit>
  void forEachPart(const Transient &t, Visit visit) const {
    size_t low = leafOf(t.first), high = leafOf(t.last) + 1;
    for (; low < high; low /= 2, high /= 2) {
      if (low & 1)
        visit(low++);
      if (high & 1)
        visit(--high);
    }
  }
  /// The nodes that a time lies in.
  template <typename Visit>
  void forEachAround(uint32_t time, Visit visit) const {
    for (size_t i = leafOf(time); i > 0; i /= 2)
      visit(i);
  }

  std::vector<uint32_t> times_; ///< at which any lifetime starts or ends
  size_t leaves_ = 0;
  std::vector<Node> nodes_; ///< the children of i are 2 i and 2 i + 1
  std::set<std::pair<uint32_t, size_t>> starts_;
};

} // namespace backplane

#endif // BACKPLANE_SCHEDULE_TIMELINE_H
