// SPDX-License-Identifier: Apache-2.0
//
// Device.cpp: the tables of memory, and what is known of a lost device.
#include "Device.h"

#include <atomic>
#include <cstdio>

void bp_device_t::lose(const char *reason) {
  std::lock_guard lock(lossMutex_);
  if (!*lost_)
    std::snprintf(lost_, sizeof lost_, "%s", reason);
}

bool bp_device_t::isLost(std::span<char> message) {
  std::lock_guard lock(lossMutex_);
  if (*lost_)
    std::snprintf(message.data(), message.size(), "the %s device is lost: %s",
                  driver.name, lost_);
  return *lost_;
}

uint64_t bp_buffer_t::nextKey() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

namespace backplane::gpu {
namespace {

bp_status_t bufferAllocate(bp_device_t *device, uint32_t space, uint64_t size,
                           uint64_t alignment, bp_buffer_t **out,
                           bp_error_t *error) {
  if (space > BP_SPACE_STAGING)
    return lacks(device->driver, error,
                 "has no memory space " + std::to_string(space));
  return device->allocate(space == BP_SPACE_STAGING, size,
                          std::max<uint64_t>(alignment, 1), out, error);
}

void bufferFree(bp_device_t *device, bp_buffer_t *buffer) {
  device->release(buffer);
}

bp_status_t bufferWrite(bp_device_t *device, bp_buffer_t *buffer,
                        uint64_t offset, const void *data, uint64_t size,
                        bp_error_t *error) {
  if (!buffer->mapped)
    return device->write(*buffer, offset, data, size, error);
  std::memcpy(buffer->mapped + offset, data, size);
  return BP_STATUS_OK;
}

bp_status_t bufferRead(bp_device_t *device, bp_buffer_t *buffer,
                       uint64_t offset, void *data, uint64_t size,
                       bp_error_t *error) {
  if (!buffer->mapped)
    return device->read(*buffer, offset, data, size, error);
  std::memcpy(data, buffer->mapped + offset, size);
  return BP_STATUS_OK;
}

bp_status_t bufferMap(bp_device_t *device, bp_buffer_t *buffer, void **out,
                      bp_error_t *error) {
  *out = buffer->mapped;
  return *out ? BP_STATUS_OK
              : fail(device->driver, error, BP_STATUS_UNIMPLEMENTED,
                     "the host does not see the memory of this buffer");
}

bp_status_t bufferImport(bp_device_t *device, void *pointer, uint64_t size,
                         uint8_t, bp_buffer_t **out, bp_error_t *error) {
  return device->import(pointer, size, out, error);
}

} // namespace

const bp_memory_table_t memoryTable = {BP_HEADER(bp_memory_table_t),
                                       bufferAllocate, bufferFree, bufferWrite,
                                       bufferRead};
const bp_memory2_table_t memory2Table = {BP_HEADER(bp_memory2_table_t),
                                         bufferMap, bufferImport};

} // namespace backplane::gpu
