// SPDX-License-Identifier: Apache-2.0
//
// Device.h: the part of an open device and of its buffers that is the same for
// all GPUs. A driver derives from both and finds its own by `static_cast`.
#ifndef BACKPLANE_GPU_DEVICE_H
#define BACKPLANE_GPU_DEVICE_H

#include "Driver.h"

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <span>

namespace backplane::gpu {

class Recording;

} // namespace backplane::gpu

struct bp_device_t {
  explicit bp_device_t(const backplane::gpu::Driver &driver) : driver(driver) {}
  virtual ~bp_device_t() = default;
  bp_device_t(const bp_device_t &) = delete;
  bp_device_t &operator=(const bp_device_t &) = delete;

  const backplane::gpu::Driver &driver;

  /// Guards semaphores and what queues hold.
  std::mutex mutex;
  std::condition_variable changed; ///< a semaphore has another value
  std::list<bp_queue_t *> open;    ///< queues

  /// Remembers what lost the device. Needs no memory.
  void lose(const char *reason);
  /// Whether the device is lost, and then why, as much of it as fits. Needs no
  /// memory.
  bool isLost(std::span<char> message);

  virtual bp_status_t allocate(bool staging, uint64_t size, uint64_t alignment,
                               bp_buffer_t **out, bp_error_t *error) = 0;
  /// Makes memory of the host a buffer.
  virtual bp_status_t import(void *pointer, uint64_t size, bp_buffer_t **out,
                             bp_error_t *error) = 0;
  virtual void release(bp_buffer_t *buffer) = 0;
  /// Copies to and from a buffer that the host does not see.
  virtual bp_status_t write(bp_buffer_t &buffer, uint64_t offset,
                            const void *data, uint64_t size,
                            bp_error_t *error) = 0;
  virtual bp_status_t read(bp_buffer_t &buffer, uint64_t offset, void *data,
                           uint64_t size, bp_error_t *error) = 0;
  virtual bp_status_t makeQueue(std::unique_ptr<bp_queue_t> &out,
                                bp_error_t *error) = 0;
  virtual std::unique_ptr<backplane::gpu::Recording> makeRecording() = 0;

private:
  std::mutex lossMutex_;
  char lost_[backplane::gpu::maxMessage] = "";
};

struct bp_buffer_t {
  /// Recordings with buffers of the same keys are the same. A buffer that takes
  /// the place of another has a key of its own: what was recorded for the other
  /// may know its pages.
  const uint64_t key = nextKey();
  uint8_t *mapped = nullptr; ///< null: the host does not see it

private:
  static uint64_t nextKey();
};

namespace backplane::gpu {

extern const bp_memory_table_t memoryTable;
extern const bp_memory2_table_t memory2Table;

} // namespace backplane::gpu

#endif // BACKPLANE_GPU_DEVICE_H
