// SPDX-License-Identifier: Apache-2.0
//
// Buffer.cpp: buffers: allocation, copies to and from the host, and memory of
// the host as a buffer.
#include "Device.h"
#include "Stager.h"

#include <algorithm>
#include <new>

namespace backplane::vulkan {

static VkBufferCreateInfo bufferInfo(uint64_t size) {
  VkBufferCreateInfo info = {VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = size;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
               VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  return info;
}

VkResult Device::create(uint64_t size, uint64_t alignment, bool staging,
                        Storage &out) {
  // Whole words can be filled and read up to the end.
  constexpr uint64_t unit = 16;
  if (size > physical.maxBuffer - std::min(unit, physical.maxBuffer))
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  VkBufferCreateInfo info = bufferInfo((size + unit - 1) / unit * unit);
  VkBuffer buffer;
  if (VkResult result = vk.vkCreateBuffer(handle, &info, nullptr, &buffer))
    return result;
  VkMemoryRequirements needs;
  vk.vkGetBufferMemoryRequirements(handle, buffer, &needs);
  uint64_t start = std::max(alignment, physical.bindingAlignment());
  Memory memory;
  VkResult result = allocator->allocate(
      {needs.size, needs.alignment, start, needs.memoryTypeBits, staging},
      memory);
  if (!result)
    result =
        vk.vkBindBufferMemory(handle, buffer, memory.handle, memory.offset);
  if (result) {
    vk.vkDestroyBuffer(handle, buffer, nullptr);
    if (memory.handle)
      allocator->release(memory);
    return result;
  }
  out = {buffer, memory};
  return VK_SUCCESS;
}

void Device::destroy(const Storage &storage) {
  if (!storage.handle)
    return;
  vk.vkDestroyBuffer(handle, storage.handle, nullptr);
  allocator->release(storage.memory);
}

bp_status_t Device::allocate(bool staging, uint64_t size, uint64_t alignment,
                             bp_buffer_t **out, bp_error_t *error) {
  std::unique_ptr<Buffer> buffer(new (std::nothrow) Buffer);
  if (!buffer)
    return outOfMemory(driver, error);
  if (VkResult result = create(size, alignment, staging, buffer->storage))
    return fail(driver, error, result,
                "there is no memory for a buffer of " + std::to_string(size) +
                    " bytes");
  buffer->mapped = buffer->storage.memory.mapped;
  *out = buffer.release();
  return BP_STATUS_OK;
}

void Device::release(bp_buffer_t *buffer) {
  auto *own = static_cast<Buffer *>(buffer);
  if (own->imported) {
    vk.vkDestroyBuffer(handle, own->storage.handle, nullptr);
    vk.vkFreeMemory(handle, own->storage.memory.handle, nullptr);
  } else {
    destroy(own->storage);
  }
  delete own;
}

bp_status_t Device::write(bp_buffer_t &buffer, uint64_t offset,
                          const void *data, uint64_t size, bp_error_t *error) {
  VkResult result = stager->write(of(buffer), offset, data, size);
  return result ? fail(driver, error, result, "a write to a buffer")
                : BP_STATUS_OK;
}

bp_status_t Device::read(bp_buffer_t &buffer, uint64_t offset, void *data,
                         uint64_t size, bp_error_t *error) {
  VkResult result = stager->read(of(buffer), offset, data, size);
  return result ? fail(driver, error, result, "a read of a buffer")
                : BP_STATUS_OK;
}

// ---- Importing ----

static constexpr VkExternalMemoryHandleTypeFlagBits hostMemory =
    VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;

/// A type of memory that whole pages of the host can become.
static bool importType(const Device &device, void *pages, uint32_t bits,
                       uint32_t &out) {
  VkMemoryHostPointerPropertiesEXT host = {
      VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
  if (device.vk.vkGetMemoryHostPointerPropertiesEXT(device.handle, hostMemory,
                                                    pages, &host))
    return false;
  for (out = 0; out < device.physical.memory.memoryTypeCount; ++out)
    if (host.memoryTypeBits & bits & 1u << out)
      return true;
  return false;
}

/// Makes pages of the host a buffer.
static VkResult importPages(const Device &device, void *pages, uint64_t size,
                            Storage &out) {
  VkExternalMemoryBufferCreateInfo external = {
      VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, nullptr,
      hostMemory};
  VkBufferCreateInfo info = bufferInfo(size);
  info.pNext = &external;
  const VolkDeviceTable &vk = device.vk;
  if (VkResult result =
          vk.vkCreateBuffer(device.handle, &info, nullptr, &out.handle))
    return result;
  VkMemoryRequirements needs;
  vk.vkGetBufferMemoryRequirements(device.handle, out.handle, &needs);
  VkImportMemoryHostPointerInfoEXT from = {
      VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT, nullptr,
      hostMemory, pages};
  VkMemoryAllocateInfo memory = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &from,
                                 size, 0};
  VkResult result = VK_ERROR_INVALID_EXTERNAL_HANDLE;
  if (needs.size <= size &&
      importType(device, pages, needs.memoryTypeBits, memory.memoryTypeIndex))
    result = vk.vkAllocateMemory(device.handle, &memory, nullptr,
                                 &out.memory.handle);
  if (!result)
    result =
        vk.vkBindBufferMemory(device.handle, out.handle, out.memory.handle, 0);
  if (result) {
    vk.vkDestroyBuffer(device.handle, out.handle, nullptr);
    vk.vkFreeMemory(device.handle, out.memory.handle, nullptr);
  }
  return result;
}

bp_status_t Device::import(void *pointer, uint64_t size, bp_buffer_t **out,
                           bp_error_t *error) {
  uint64_t page = physical.importAlignment;
  if (!page || !vk.vkGetMemoryHostPointerPropertiesEXT)
    return fail(driver, error, BP_STATUS_UNIMPLEMENTED,
                "the device cannot import memory of the host");
  auto address = reinterpret_cast<uintptr_t>(pointer);
  uint64_t base = address % page;
  uint64_t bytes = (base + size + page - 1) / page * page;
  std::unique_ptr<Buffer> buffer(new (std::nothrow) Buffer);
  if (!buffer)
    return outOfMemory(driver, error);
  if (VkResult result =
          importPages(*this, reinterpret_cast<void *>(address - base), bytes,
                      buffer->storage))
    return fail(driver, error, BP_STATUS_UNIMPLEMENTED,
                "the device cannot import this memory of the host: " +
                    nameOf(result));
  buffer->base = base;
  buffer->mapped = static_cast<uint8_t *>(pointer);
  buffer->imported = true;
  *out = buffer.release();
  return BP_STATUS_OK;
}

} // namespace backplane::vulkan
