// SPDX-License-Identifier: Apache-2.0
#include "hal/core/Buffer.h"
#include "hal/core/Device.h"
#include "hal/core/Error.h"
#include "hal/core/Tables.h"

namespace backplane {

Buffer::~Buffer() {
  callPluginVoid("buffer_free", device_->tables().memory.buffer_free,
                 device_->handle(), handle_);
}

Status Buffer::checkRange(uint64_t offset, uint64_t size) const {
  if (offset <= size_ && size <= size_ - offset)
    return {};
  return Status(BP_STATUS_OUT_OF_RANGE,
                std::to_string(size) + " bytes at offset " +
                    std::to_string(offset) + " lie outside of a buffer of " +
                    std::to_string(size_) + " bytes");
}

Status Buffer::write(uint64_t offset, std::span<const uint8_t> data) {
  if (Status status = checkRange(offset, data.size()); !status.ok())
    return status.within("buffer write");
  if (readOnly_)
    return invalidArgument("buffer write: the buffer is imported read-only");
  if (data.empty())
    return {};
  TraceScope scope(device_->host().trace(), "write to device", "transfer");
  scope.add("bytes", uint64_t(data.size()));
  return device_->noted(callPlugin(
      "buffer_write", device_->tables().memory.buffer_write, device_->handle(),
      handle_, offset, static_cast<const void *>(data.data()),
      uint64_t(data.size())));
}

Status Buffer::read(uint64_t offset, std::span<uint8_t> data) const {
  if (Status status = checkRange(offset, data.size()); !status.ok())
    return status.within("buffer read");
  if (data.empty())
    return {};
  TraceScope scope(device_->host().trace(), "read from device", "transfer");
  scope.add("bytes", uint64_t(data.size()));
  return device_->noted(
      callPlugin("buffer_read", device_->tables().memory.buffer_read,
                 device_->handle(), handle_, offset,
                 static_cast<void *>(data.data()), uint64_t(data.size())));
}

uint8_t *Buffer::map() {
  void *pointer = nullptr;
  Status status = callPlugin("buffer_map", device_->tables().memory2.buffer_map,
                             device_->handle(), handle_, &pointer);
  return status.ok() ? static_cast<uint8_t *>(pointer) : nullptr;
}

} // namespace backplane
