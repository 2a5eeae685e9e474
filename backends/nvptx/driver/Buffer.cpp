// SPDX-License-Identifier: Apache-2.0
//
// Buffer.cpp: buffers: allocation, copies to and from the host, and memory of
// the host as a buffer.
#include "Device.h"

#include <new>

namespace backplane::cuda {

/// What CUDA aligns allocations to, and the host bindings.
static constexpr uint64_t minAlignment = 256;

/// Memory that both sides see, at one address where the device allows it.
static CUresult allocatePinned(const Cuda &cuda, uint64_t bytes, Buffer &out) {
  if (CUresult result = cuda.cuMemHostAlloc(&out.pinned, bytes,
                                            CU_MEMHOSTALLOC_PORTABLE |
                                                CU_MEMHOSTALLOC_DEVICEMAP))
    return result;
  return cuda.cuMemHostGetDevicePointer(&out.address, out.pinned, 0);
}

CUresult Device::makePool() {
  int has = 0;
  CUresult result = cuda.cuDeviceGetAttribute(
      &has, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, physical.handle);
  if (result || !has)
    return result;
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, physical.handle};
  result = cuda.cuStreamCreate(&memoryStream, CU_STREAM_NON_BLOCKING);
  if (!result)
    result = cuda.cuMemPoolCreate(&pool, &properties);
  cuuint64_t kept = UINT64_MAX;
  return result ? result
                : cuda.cuMemPoolSetAttribute(
                      pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept);
}

/// Memory of the pool may be used by all streams when its own has come to it.
CUresult Device::allocateOnDevice(uint64_t bytes, CUdeviceptr &out) {
  if (!pool)
    return cuda.cuMemAlloc(&out, bytes);
  CUresult result =
      cuda.cuMemAllocFromPoolAsync(&out, bytes, pool, memoryStream);
  // What is kept may be in pieces that are too small.
  if (result == CUDA_ERROR_OUT_OF_MEMORY && !cuda.cuMemPoolTrimTo(pool, 0))
    result = cuda.cuMemAllocFromPoolAsync(&out, bytes, pool, memoryStream);
  return result ? result : cuda.cuStreamSynchronize(memoryStream);
}

CUresult Device::allocateMemory(bool staging, uint64_t size, uint64_t alignment,
                                Buffer &out) {
  uint64_t extra = staging ? alignment : alignment - minAlignment;
  if (size > UINT64_MAX - extra)
    return CUDA_ERROR_OUT_OF_MEMORY;
  CUresult result = staging ? allocatePinned(cuda, size + extra, out)
                            : allocateOnDevice(size + extra, out.allocated);
  if (result)
    return result;
  CUdeviceptr start = out.pinned ? out.address : out.allocated;
  uint64_t skip = extra ? (alignment - start % alignment) % alignment : 0;
  out.address = start + skip;
  if (out.pinned)
    out.mapped = static_cast<uint8_t *>(out.pinned) + skip;
  return CUDA_SUCCESS;
}

/// Nothing that runs uses the buffer.
void Device::releaseMemory(const Buffer &buffer) {
  if (buffer.pinned)
    cuda.cuMemFreeHost(buffer.pinned);
  if (buffer.registered)
    cuda.cuMemHostUnregister(buffer.registered);
  if (buffer.allocated && pool)
    cuda.cuMemFreeAsync(buffer.allocated, memoryStream);
  else if (buffer.allocated)
    cuda.cuMemFree(buffer.allocated);
}

bp_status_t Device::allocate(bool staging, uint64_t size, uint64_t alignment,
                             bp_buffer_t **out, bp_error_t *error) {
  std::unique_ptr<Buffer> buffer(new (std::nothrow) Buffer);
  if (!buffer)
    return outOfMemory(driver, error);
  Current current(*this);
  if (CUresult result = allocateMemory(
          staging, size, std::max(alignment, minAlignment), *buffer)) {
    releaseMemory(*buffer);
    return fail(error, result,
                "there is no memory for a buffer of " + std::to_string(size) +
                    " bytes");
  }
  *out = buffer.release();
  return BP_STATUS_OK;
}

void Device::release(bp_buffer_t *buffer) {
  Current current(*this);
  auto *own = static_cast<Buffer *>(buffer);
  releaseMemory(*own);
  delete own;
}

bp_status_t Device::write(bp_buffer_t &buffer, uint64_t offset,
                          const void *data, uint64_t size, bp_error_t *error) {
  Current current(*this);
  CUresult result =
      size ? cuda.cuMemcpyHtoD(addressOf(buffer) + offset, data, size)
           : CUDA_SUCCESS;
  return result ? fail(error, result, "a write to a buffer") : BP_STATUS_OK;
}

bp_status_t Device::read(bp_buffer_t &buffer, uint64_t offset, void *data,
                         uint64_t size, bp_error_t *error) {
  Current current(*this);
  CUresult result =
      size ? cuda.cuMemcpyDtoH(data, addressOf(buffer) + offset, size)
           : CUDA_SUCCESS;
  return result ? fail(error, result, "a read of a buffer") : BP_STATUS_OK;
}

bp_status_t Device::import(void *pointer, uint64_t size, bp_buffer_t **out,
                           bp_error_t *error) {
  std::unique_ptr<Buffer> buffer(new (std::nothrow) Buffer);
  if (!buffer)
    return outOfMemory(driver, error);
  Current current(*this);
  CUresult result = cuda.cuMemHostRegister(pointer, size,
                                           CU_MEMHOSTREGISTER_PORTABLE |
                                               CU_MEMHOSTREGISTER_DEVICEMAP);
  if (!result) {
    buffer->registered = pointer;
    result = cuda.cuMemHostGetDevicePointer(&buffer->address, pointer, 0);
  }
  if (result) {
    releaseMemory(*buffer);
    return cuda::fail(driver, error, BP_STATUS_UNIMPLEMENTED,
                      "the device cannot import this memory of the host: " +
                          cuda.describe(result));
  }
  buffer->mapped = static_cast<uint8_t *>(pointer);
  *out = buffer.release();
  return BP_STATUS_OK;
}

} // namespace backplane::cuda
