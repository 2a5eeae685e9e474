// SPDX-License-Identifier: Apache-2.0
//
// Buffer.h: memory that kernels of one device use.
#ifndef BACKPLANE_CORE_BUFFER_H
#define BACKPLANE_CORE_BUFFER_H

#include "backplane/cpp/Result.h"
#include "backplane/hal.h"

#include <cstdint>
#include <memory>
#include <span>

namespace backplane {

class Device;

/// Made by Device::allocate and Device::import. Calls on distinct buffers run
/// concurrently; the caller has waited for earlier users of this one.
class Buffer {
public:
  ~Buffer();
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  uint64_t size() const { return size_; }
  /// Kernels must not write it: imported as read-only.
  bool readOnly() const { return readOnly_; }
  const Device &device() const { return *device_; }
  bp_buffer_t *handle() const { return handle_; }

  /// Copy between host memory and [offset, offset + size). A range outside of
  /// the buffer is BP_STATUS_OUT_OF_RANGE.
  Status write(uint64_t offset, std::span<const uint8_t> data);
  Status read(uint64_t offset, std::span<uint8_t> data) const;

  /// A host pointer to the start, valid as long as this object; null when the
  /// device's memory cannot be mapped.
  uint8_t *map();

private:
  friend class Device;
  Buffer(std::shared_ptr<Device> device, bp_buffer_t *handle, uint64_t size,
         bool readOnly)
      : device_(std::move(device)), handle_(handle), size_(size),
        readOnly_(readOnly) {}
  Status checkRange(uint64_t offset, uint64_t size) const;

  std::shared_ptr<Device> device_;
  bp_buffer_t *handle_;
  uint64_t size_;
  bool readOnly_;
};

} // namespace backplane

#endif // BACKPLANE_CORE_BUFFER_H
