// SPDX-License-Identifier: Apache-2.0
//
// Semaphore.h: a timeline: a number that only grows, waited for and signalled
// by queues and by the host. A failure travels through it: once failed, every
// wait on it fails the same way. The driver's own semaphore is used when it
// has one, else a timeline of the host.
#ifndef BACKPLANE_CORE_SEMAPHORE_H
#define BACKPLANE_CORE_SEMAPHORE_H

#include "backplane/cpp/Result.h"
#include "backplane/hal.h"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace backplane {

class Device;

/// Made by Device::createSemaphore. Thread-safe.
class Semaphore {
public:
  ~Semaphore();
  Semaphore(const Semaphore &) = delete;
  Semaphore &operator=(const Semaphore &) = delete;

  /// Current value, or the failure that was signalled.
  Result<uint64_t> query() const;
  /// Raises the value; a value that is not higher than the current one is
  /// refused.
  Status signal(uint64_t value);
  /// Waits until `value` is reached, running work of the host meanwhile;
  /// BP_STATUS_DEADLINE_EXCEEDED after `timeoutNs`.
  Status wait(uint64_t value, uint64_t timeoutNs = UINT64_MAX);

  /// Null for a timeline of the host.
  bp_semaphore_t *handle() const { return handle_; }
  const Device &device() const { return *device_; }

private:
  friend class Device;
  friend class Queue;
  Semaphore(std::shared_ptr<Device> device, bp_semaphore_t *handle,
            uint64_t initial)
      : device_(std::move(device)), handle_(handle), value_(initial) {}
  void fail(const Status &status);
  bool reached(uint64_t value, Status &failure) const;
  bool watch(uint64_t value, std::function<void()> callback);
  void wake(std::unique_lock<std::mutex> &lock);
  Status waitNative(uint64_t value, uint64_t timeoutNs);

  std::shared_ptr<Device> device_;
  bp_semaphore_t *handle_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t value_;
  Status failure_;
  std::vector<std::function<void()>> watchers_;
};

/// The semaphore has reached `value`.
struct Timepoint {
  std::shared_ptr<Semaphore> semaphore;
  uint64_t value = 0;
};

} // namespace backplane

#endif // BACKPLANE_CORE_SEMAPHORE_H
