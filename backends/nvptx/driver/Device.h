// SPDX-License-Identifier: Apache-2.0
//
// Device.h: an open device and its buffers.
#ifndef BACKPLANE_CUDA_DEVICE_H
#define BACKPLANE_CUDA_DEVICE_H

#include "PhysicalDevice.h"

#include <condition_variable>
#include <list>
#include <mutex>

struct bp_device_t {
  bp_device_t(const backplane::cuda::Driver &driver,
              const backplane::cuda::PhysicalDevice &physical);
  ~bp_device_t();
  bp_device_t(const bp_device_t &) = delete;
  bp_device_t &operator=(const bp_device_t &) = delete;

  const backplane::cuda::Driver &driver;
  const backplane::cuda::PhysicalDevice physical;
  const backplane::cuda::Cuda &cuda;
  CUcontext context = nullptr; ///< the primary one, shared in the process

  /// Guards semaphores and what queues hold.
  std::mutex mutex;
  std::condition_variable changed; ///< a semaphore has another value
  std::list<bp_queue_t *> open;    ///< queues

  /// A failed call as the host's status; the device is lost if nothing runs on
  /// it any more.
  bp_status_t fail(bp_error_t *error, CUresult result, std::string_view what);
  /// Remembers what lost the device.
  void lose(const char *reason);
  /// Whether the device is lost, and then why, as much of it as fits. Needs no
  /// memory.
  bool isLost(std::span<char> message);

private:
  std::mutex lossMutex_;
  char lost_[backplane::cuda::maxMessage] = "";
};

struct bp_buffer_t {
  CUdeviceptr address;
  uint8_t *mapped; ///< null: the host does not see it
  /// What was allocated or registered, and is given back.
  CUdeviceptr allocated = 0;
  void *pinned = nullptr, *registered = nullptr;
};

namespace backplane::cuda {

/// Bindings of a dispatch.
inline constexpr uint32_t maxBindings = 128;

/// Makes a device's context the calling thread's, and what it had before its
/// own again.
class Current {
public:
  explicit Current(const bp_device_t &device) : cuda_(device.cuda) {
    cuda_.cuCtxPushCurrent(device.context);
  }
  ~Current() {
    CUcontext popped;
    cuda_.cuCtxPopCurrent(&popped);
  }
  Current(const Current &) = delete;
  Current &operator=(const Current &) = delete;

private:
  const Cuda &cuda_;
};

} // namespace backplane::cuda

#endif // BACKPLANE_CUDA_DEVICE_H
