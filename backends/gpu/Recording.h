// SPDX-License-Identifier: Apache-2.0
//
// Recording.h: what belongs to one run of commands on a device: commands in the
// device's form, error words, scratch, marks of time.
#ifndef BACKPLANE_GPU_RECORDING_H
#define BACKPLANE_GPU_RECORDING_H

#include "Device.h"

#include <optional>
#include <vector>

namespace backplane::gpu {

/// Used by one run at a time.
class Recording {
public:
  Recording() = default;
  virtual ~Recording() = default;
  Recording(const Recording &) = delete;
  Recording &operator=(const Recording &) = delete;

  /// Whether what was recorded last had these buffers in its slots.
  bool holds(std::span<const uint64_t> bound) const;
  /// Whether something in it reports errors.
  bool mayFail() const { return mayFail_; }

  /// Blocks until the device is done. Needs no memory.
  virtual Outcome wait() = 0;
  /// When each command ran; nothing is written for those that were not timed.
  virtual void readTimes(bp_timestamp_t *times) const = 0;
  /// What the first error word says that was set by the run. Needs no memory.
  Outcome firstError() const;

protected:
  virtual uint32_t errorWord(size_t dispatch) const = 0;

  std::vector<uint32_t> ops_;   ///< of the dispatches, in order
  std::vector<uint32_t> timed_; ///< commands between pairs of marks
  bool mayFail_ = false;
  /// The buffers of what was recorded; none: nothing is that can run again.
  std::optional<std::vector<uint64_t>> bound_;
};

/// Recordings of one owner. Guarded by the device.
struct RecordingPool {
  using List = std::list<std::unique_ptr<Recording>>;
  using Place = List::iterator;
  List idle, used;

  /// One for a run; `fresh` is used up where none is idle.
  Place take(List &fresh);
  /// The same, best one that holds these buffers. Two are kept, for those who
  /// run with two sets of buffers in turn.
  Place take(List &fresh, std::span<const uint64_t> bound);
  void putBack(Place recording) { idle.splice(idle.begin(), used, recording); }
};

/// The type of the first command that drivers do not know, if any.
std::optional<uint32_t> unknownCommand(Commands commands);
/// Scratch of all work-groups of a dispatch, of which one has `entryBytes`
/// where the dispatch does not say. More than 2^40 is 2^40.
uint64_t scratchOf(const bp_command_dispatch_t &dispatch, uint64_t entryBytes);
inline constexpr uint64_t maxScratch = uint64_t(1) << 40;

} // namespace backplane::gpu

#endif // BACKPLANE_GPU_RECORDING_H
