// SPDX-License-Identifier: Apache-2.0
//
// Buffer.cpp: buffers: allocation, copies to and from the host, mapping, and
// memory of the host as a buffer.
#include "Device.h"

#include <cstring>
#include <new>

namespace backplane::cuda {

/// What CUDA aligns allocations to, and the host bindings.
static constexpr uint64_t minAlignment = 256;

/// Memory that both sides see, at one address where the device allows it.
static CUresult allocatePinned(const Cuda &cuda, uint64_t bytes,
                               bp_buffer_t &out) {
  if (CUresult result = cuda.cuMemHostAlloc(&out.pinned, bytes,
                                            CU_MEMHOSTALLOC_PORTABLE |
                                                CU_MEMHOSTALLOC_DEVICEMAP))
    return result;
  return cuda.cuMemHostGetDevicePointer(&out.address, out.pinned, 0);
}

static CUresult allocate(const Cuda &cuda, uint32_t space, uint64_t size,
                         uint64_t alignment, bp_buffer_t &out) {
  uint64_t extra = std::max(alignment, minAlignment) - minAlignment;
  if (space == BP_SPACE_STAGING)
    extra = std::max(alignment, minAlignment);
  if (size > UINT64_MAX - extra)
    return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = CUDA_SUCCESS;
  if (space == BP_SPACE_STAGING)
    result = allocatePinned(cuda, size + extra, out);
  else
    result = cuda.cuMemAlloc(&out.allocated, size + extra);
  if (result)
    return result;
  CUdeviceptr start = out.pinned ? out.address : out.allocated;
  uint64_t skip = extra ? (alignment - start % alignment) % alignment : 0;
  out.address = start + skip;
  if (out.pinned)
    out.mapped = static_cast<uint8_t *>(out.pinned) + skip;
  return CUDA_SUCCESS;
}

static void release(const Cuda &cuda, const bp_buffer_t &buffer) {
  if (buffer.pinned)
    cuda.cuMemFreeHost(buffer.pinned);
  if (buffer.registered)
    cuda.cuMemHostUnregister(buffer.registered);
  if (buffer.allocated)
    cuda.cuMemFree(buffer.allocated);
}

static bp_status_t bufferAllocate(bp_device_t *device, uint32_t space,
                                  uint64_t size, uint64_t alignment,
                                  bp_buffer_t **out, bp_error_t *error) {
  const Driver &driver = device->driver;
  if (space > BP_SPACE_STAGING)
    return fail(driver, error, BP_STATUS_UNIMPLEMENTED,
                "the CUDA driver has no memory space " + std::to_string(space));
  auto *buffer = new (std::nothrow) bp_buffer_t{};
  if (!buffer)
    return outOfMemory(driver, error);
  Current current(*device);
  uint64_t start = std::max(alignment, minAlignment);
  if (CUresult result = allocate(device->cuda, space, size, start, *buffer)) {
    release(device->cuda, *buffer);
    delete buffer;
    return device->fail(error, result,
                        "there is no memory for a buffer of " +
                            std::to_string(size) + " bytes");
  }
  *out = buffer;
  return BP_STATUS_OK;
}

static void bufferFree(bp_device_t *device, bp_buffer_t *buffer) {
  Current current(*device);
  release(device->cuda, *buffer);
  delete buffer;
}

static bp_status_t bufferWrite(bp_device_t *device, bp_buffer_t *buffer,
                               uint64_t offset, const void *data, uint64_t size,
                               bp_error_t *error) {
  if (buffer->mapped) {
    std::memcpy(buffer->mapped + offset, data, size);
    return BP_STATUS_OK;
  }
  Current current(*device);
  CUresult result =
      size ? device->cuda.cuMemcpyHtoD(buffer->address + offset, data, size)
           : CUDA_SUCCESS;
  return result ? device->fail(error, result, "a write to a buffer")
                : BP_STATUS_OK;
}

static bp_status_t bufferRead(bp_device_t *device, bp_buffer_t *buffer,
                              uint64_t offset, void *data, uint64_t size,
                              bp_error_t *error) {
  if (buffer->mapped) {
    std::memcpy(data, buffer->mapped + offset, size);
    return BP_STATUS_OK;
  }
  Current current(*device);
  CUresult result =
      size ? device->cuda.cuMemcpyDtoH(data, buffer->address + offset, size)
           : CUDA_SUCCESS;
  return result ? device->fail(error, result, "a read of a buffer")
                : BP_STATUS_OK;
}

// ---- Mapping and importing ----

static bp_status_t bufferMap(bp_device_t *device, bp_buffer_t *buffer,
                             void **out, bp_error_t *error) {
  *out = buffer->mapped;
  return buffer->mapped
             ? BP_STATUS_OK
             : fail(device->driver, error, BP_STATUS_UNIMPLEMENTED,
                    "the host does not see the memory of this buffer");
}

static bp_status_t bufferImport(bp_device_t *device, void *pointer,
                                uint64_t size, uint8_t, bp_buffer_t **out,
                                bp_error_t *error) {
  auto *buffer = new (std::nothrow) bp_buffer_t{};
  if (!buffer)
    return outOfMemory(device->driver, error);
  Current current(*device);
  CUresult result = device->cuda.cuMemHostRegister(
      pointer, size,
      CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  if (!result) {
    buffer->registered = pointer;
    result =
        device->cuda.cuMemHostGetDevicePointer(&buffer->address, pointer, 0);
  }
  if (result) {
    release(device->cuda, *buffer);
    delete buffer;
    return fail(device->driver, error, BP_STATUS_UNIMPLEMENTED,
                "the device cannot import this memory of the host: " +
                    device->cuda.describe(result));
  }
  buffer->mapped = static_cast<uint8_t *>(pointer);
  *out = buffer;
  return BP_STATUS_OK;
}

const bp_memory_table_t memoryTable = {BP_HEADER(bp_memory_table_t),
                                       bufferAllocate, bufferFree, bufferWrite,
                                       bufferRead};
const bp_memory2_table_t memory2Table = {BP_HEADER(bp_memory2_table_t),
                                         bufferMap, bufferImport};

} // namespace backplane::cuda
