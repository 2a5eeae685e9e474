// SPDX-License-Identifier: Apache-2.0
//
// Timing.h: when each command of a recording ran, by timestamps of the device
// brought to the host's monotonic clock.
#ifndef BACKPLANE_VULKAN_TIMING_H
#define BACKPLANE_VULKAN_TIMING_H

#include "Device.h"

namespace backplane::vulkan {

/// The timestamps of one recording.
class Timing {
public:
  explicit Timing(const Device &device) : device_(device) {}
  ~Timing();
  Timing(const Timing &) = delete;
  Timing &operator=(const Timing &) = delete;

  /// Makes room for `count` commands and forgets earlier ones. Without
  /// timestamps in the device's queues nothing is recorded.
  VkResult prepare(VkCommandBuffer commands, uint32_t count);
  /// Records the time when all earlier commands are done: before and after
  /// each command that is timed, in turn.
  void mark(VkCommandBuffer commands);
  /// What the marks say after a run, one entry for each pair of marks; zeros
  /// where it is not known.
  std::vector<bp_timestamp_t> read() const;

private:
  const Device &device_;
  VkQueryPool pool_ = VK_NULL_HANDLE;
  uint32_t capacity_ = 0; ///< in marks
  uint32_t marks_ = 0;
};

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_TIMING_H
