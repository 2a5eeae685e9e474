// SPDX-License-Identifier: Apache-2.0
//
// ValueMemory.h: the memory of values on the device of a session.
#ifndef BACKPLANE_RUNTIME_VALUEMEMORY_H
#define BACKPLANE_RUNTIME_VALUEMEMORY_H

#include "Memory.h"

namespace backplane::rt {

/// Thread-safe.
class ValueMemory {
public:
  ValueMemory(std::shared_ptr<Device> device, std::shared_ptr<Budget> budget)
      : device_(std::move(device)), budget_(std::move(budget)) {}

  const Device &device() const { return *device_; }
  /// Whether calls use a range of this buffer in place.
  bool takes(const Buffer &buffer, uint64_t offset) const;
  /// At least `bytes`: an idle buffer, or a new one with some room to grow, so
  /// that two buffers of a cache that grows are enough for many calls.
  Result<std::shared_ptr<Buffer>> allocate(uint64_t bytes);
  /// Keeps a buffer for later results if nobody else holds it.
  void recycle(std::shared_ptr<Buffer> buffer);

private:
  std::shared_ptr<Device> device_;
  std::shared_ptr<Budget> budget_;
  struct Idle {
    std::shared_ptr<Buffer> buffer;
    uint64_t since; ///< number of allocations before
  };

  std::mutex mutex_;
  std::vector<Idle> idle_;
  uint64_t allocations_ = 0;
};

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_VALUEMEMORY_H
