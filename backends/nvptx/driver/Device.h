// SPDX-License-Identifier: Apache-2.0
//
// Device.h: an open device and its buffers.
#ifndef BACKPLANE_CUDA_DEVICE_H
#define BACKPLANE_CUDA_DEVICE_H

#include "PhysicalDevice.h"
#include "backends/gpu/Queue.h"

namespace backplane::cuda {

struct Buffer;

struct Device final : bp_device_t {
  Device(const Driver &driver, const PhysicalDevice &physical);
  ~Device() override;

  const PhysicalDevice physical;
  const Cuda &cuda;
  CUcontext context = nullptr; ///< the primary one, shared in the process
  /// Memory that is freed stays in the pool for the next buffer, and neither
  /// waits for what runs on the device; null: the device has no pools.
  CUmemoryPool pool = nullptr;
  CUstream memoryStream = nullptr; ///< orders what the pool gives and takes

  CUresult makePool();

  /// What registered kernels call CUDA with.
  bp_device_handles_t handles() const;

  /// A failed call as the host's status; the device is lost if nothing runs on
  /// it any more.
  bp_status_t fail(bp_error_t *error, CUresult result, std::string_view what);
  /// The same as an outcome. Needs no memory.
  gpu::Outcome outcomeOf(CUresult result);

  bp_status_t allocate(bool staging, uint64_t size, uint64_t alignment,
                       bp_buffer_t **out, bp_error_t *error) override;
  bp_status_t import(void *pointer, uint64_t size, bp_buffer_t **out,
                     bp_error_t *error) override;
  void release(bp_buffer_t *buffer) override;
  bp_status_t write(bp_buffer_t &buffer, uint64_t offset, const void *data,
                    uint64_t size, bp_error_t *error) override;
  bp_status_t read(bp_buffer_t &buffer, uint64_t offset, void *data,
                   uint64_t size, bp_error_t *error) override;
  bp_status_t makeQueue(std::unique_ptr<bp_queue_t> &out,
                        bp_error_t *error) override;
  std::unique_ptr<gpu::Recording> makeRecording() override;

private:
  CUresult allocateMemory(bool staging, uint64_t size, uint64_t alignment,
                          Buffer &out);
  CUresult allocateOnDevice(uint64_t bytes, CUdeviceptr &out);
  void releaseMemory(const Buffer &buffer);
};

inline Device &of(bp_device_t &device) { return static_cast<Device &>(device); }

struct Buffer final : bp_buffer_t {
  CUdeviceptr address = 0;
  /// What was allocated or registered, and is given back.
  CUdeviceptr allocated = 0;
  void *pinned = nullptr, *registered = nullptr;
};

inline CUdeviceptr addressOf(const bp_buffer_t &buffer) {
  return static_cast<const Buffer &>(buffer).address;
}

/// Bindings of a dispatch.
inline constexpr uint32_t maxBindings = 128;

/// Makes a device's context the calling thread's, and what it had before its
/// own again.
class Current {
public:
  explicit Current(const Device &device) : cuda_(device.cuda) {
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
