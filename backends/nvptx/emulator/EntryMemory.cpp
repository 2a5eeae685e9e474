// SPDX-License-Identifier: Apache-2.0
//
// EntryMemory.cpp: entry points about memory, copies and fills.
#include "Context.h"

#include <cstdlib>

namespace emulator {
namespace {

// Where `bytes` at an address of any kind are; plain host memory is taken as
// is.
uint8_t *resolve(uint64_t address, size_t bytes, const char *what) {
  if (!bytes)
    return nullptr;
  const Allocation *found = memory().find(address);
  if (found && !found->freed) {
    if (!found->contains(address, bytes))
      fail(CUDA_ERROR_INVALID_VALUE,
           std::string(what) + " " + std::to_string(bytes) + " bytes from " +
               memory().describe(address) + " on");
    return found->host + (address - found->base);
  }
  if (windowOf(address) != 0 || !address)
    fail(CUDA_ERROR_INVALID_VALUE, std::string(what) + " " +
                                       std::to_string(bytes) + " bytes at " +
                                       memory().describe(address));
  return reinterpret_cast<uint8_t *>(address);
}

// The allocation that has an address, by its number; 0: plain host memory.
uint64_t ownerOf(uint64_t address) {
  const Allocation *found = memory().find(address);
  return found && !found->freed ? found->number : 0;
}

// The same where a graph is captured; 0: nothing is.
uint64_t capturedOwner(const Stream &stream, uint64_t address) {
  return stream.capture ? ownerOf(address) : 0;
}

// A graph knows the pages of what it copies: the same address in an allocation
// that came later is not what was captured.
void refuseOther(uint64_t address, uint64_t captured, const char *what) {
  if (captured && ownerOf(address) != captured)
    fail(CUDA_ERROR_LAUNCH_FAILED,
         std::string(what) + " buffer " + std::to_string(captured) +
             ", which was freed or unregistered after the graph was captured");
}

void copyNow(uint64_t to, uint64_t from, size_t bytes) {
  uint8_t *target = resolve(to, bytes, "a copy writes");
  const uint8_t *source = resolve(from, bytes, "a copy reads");
  if (bytes)
    std::memmove(target, source, bytes);
}

void copy(CUstream handle, uint64_t to, uint64_t from, size_t bytes) {
  Context &context = current();
  auto stream = context.stream(handle);
  // A wrong copy is an error of this call, not of the stream.
  resolve(to, bytes, "a copy writes");
  resolve(from, bytes, "a copy reads");
  uint64_t target = capturedOwner(*stream, to);
  uint64_t source = capturedOwner(*stream, from);
  context.submit(stream, [=] {
    refuseOther(to, target, "a graph copies to");
    refuseOther(from, source, "a graph copies from");
    copyNow(to, from, bytes);
  });
}

void copyAndWait(uint64_t to, uint64_t from, size_t bytes) {
  copy(nullptr, to, from, bytes);
  Context &context = current();
  context.executor.wait(context.stream0.get());
  current();
}

template <class T>
void fill(CUstream handle, uint64_t to, T value, size_t count, bool waits) {
  Context &context = current();
  auto stream = context.stream(handle);
  if (to % sizeof(T) != 0)
    fail(CUDA_ERROR_INVALID_VALUE, "a fill is not aligned");
  resolve(to, count * sizeof(T), "a fill writes");
  uint64_t target = capturedOwner(*stream, to);
  context.submit(stream, [=] {
    refuseOther(to, target, "a graph fills");
    uint8_t *at = resolve(to, count * sizeof(T), "a fill writes");
    for (size_t i = 0; i < count; ++i)
      std::memcpy(at + i * sizeof(T), &value, sizeof(T));
  });
  if (waits)
    context.executor.wait(stream.get());
}

uint64_t allocate(size_t bytes, const char *kind) {
  Context &context = current();
  if (!bytes)
    fail(CUDA_ERROR_INVALID_VALUE, "0 bytes of memory are no buffer");
  uint64_t limit = kDevice[context.device].memory;
  if (bytes > limit || memory().used(context.device) > limit - bytes)
    fail(CUDA_ERROR_OUT_OF_MEMORY, "");
  uint64_t made = memory().allocate(bytes, context.device, kind);
  if (!made)
    fail(CUDA_ERROR_OUT_OF_MEMORY, "");
  return made;
}

void *allocateHost(size_t bytes) {
  current();
  void *made = nullptr;
  if (!bytes || posix_memalign(&made, 4096, bytes) != 0)
    fail(bytes ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE, "");
  memory().adopt(made, bytes, "host memory");
  return made;
}

void releaseNow(uint64_t address) {
  if (address && !memory().release(address))
    fail(CUDA_ERROR_INVALID_VALUE,
         "no living buffer begins there; it is " + memory().describe(address));
}

uint64_t addressOf(const void *pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

CUdeviceptr allocateInOrder(size_t bytes, CUstream handle) {
  current().stream(handle);
  return allocate(bytes, "stream-ordered memory");
}

/// A pool keeps nothing: memory that is freed is gone.
struct Pool {
  int device;
};

Pool &poolOf(CUmemoryPool handle) {
  if (!handle)
    fail(CUDA_ERROR_INVALID_VALUE, "no pool of memory");
  return *reinterpret_cast<Pool *>(handle);
}

} // namespace
} // namespace emulator

using namespace emulator;

extern "C" {

CUresult cuMemGetInfo(size_t *free, size_t *total) {
  return guarded([&] {
    int device = current().device;
    *total = kDevice[device].memory;
    *free = *total - memory().used(device);
  });
}

CUresult cuMemAlloc(CUdeviceptr *out, size_t bytes) {
  return guarded([&] { *out = allocate(bytes, "device memory"); });
}

CUresult cuMemFree(CUdeviceptr address) {
  return guarded([&] {
    // As on a device, what is enqueued comes first.
    current().executor.wait(nullptr);
    releaseNow(address);
  });
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream handle) {
  return guarded([&] { *out = allocateInOrder(bytes, handle); });
}

CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *properties) {
  return guarded([&] {
    if (properties->allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
        properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
      fail(CUDA_ERROR_NOT_SUPPORTED, "a pool is memory of a device here");
    *out = reinterpret_cast<CUmemoryPool>(new Pool{properties->location.id});
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return guarded([&] { delete &poolOf(pool); });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute, void *) {
  return guarded([&] { poolOf(pool); });
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
  return guarded([&] { poolOf(pool); });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes,
                                 CUmemoryPool pool, CUstream handle) {
  return guarded([&] {
    if (poolOf(pool).device != current().device)
      fail(CUDA_ERROR_INVALID_VALUE, "the pool is of another device");
    *out = allocateInOrder(bytes, handle);
  });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  return guarded([&] {
    Context &context = current();
    context.submit(context.stream(handle), [=] { releaseNow(address); });
  });
}

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned) {
  return guarded([&] { *out = allocateHost(bytes); });
}

CUresult cuMemAllocHost(void **out, size_t bytes) {
  return guarded([&] { *out = allocateHost(bytes); });
}

CUresult cuMemFreeHost(void *pointer) {
  return guarded([&] {
    current().executor.wait(nullptr);
    releaseNow(addressOf(pointer));
    std::free(pointer);
  });
}

CUresult cuMemHostRegister(void *pointer, size_t bytes, unsigned) {
  return guarded([&] {
    current();
    if (!pointer || !bytes)
      fail(CUDA_ERROR_INVALID_VALUE, "");
    if (const Allocation *known = memory().find(addressOf(pointer)))
      if (!known->freed)
        fail(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "");
    memory().adopt(pointer, bytes, "registered host memory");
  });
}

CUresult cuMemHostUnregister(void *pointer) {
  return guarded([&] {
    current().executor.wait(nullptr);
    releaseNow(addressOf(pointer));
  });
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr *out, void *pointer, unsigned) {
  return guarded([&] {
    current();
    if (!memory().find(addressOf(pointer)))
      fail(CUDA_ERROR_INVALID_VALUE, "the host memory is not registered");
    *out = addressOf(pointer);
  });
}

CUresult cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes,
                              CUdeviceptr address) {
  return guarded([&] {
    current();
    const Allocation *found = memory().find(address);
    if (!found || found->freed)
      fail(CUDA_ERROR_NOT_FOUND, "");
    if (base)
      *base = found->base;
    if (bytes)
      *bytes = found->bytes;
  });
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return guarded([&] { copyAndWait(to, from, bytes); });
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes) {
  return guarded([&] { copyAndWait(to, addressOf(from), bytes); });
}
CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes) {
  return guarded([&] { copyAndWait(addressOf(to), from, bytes); });
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return guarded([&] { copyAndWait(to, from, bytes); });
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                       CUstream stream) {
  return guarded([&] { copy(stream, to, from, bytes); });
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes,
                           CUstream stream) {
  return guarded([&] { copy(stream, to, addressOf(from), bytes); });
}
CUresult cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes,
                           CUstream stream) {
  return guarded([&] { copy(stream, addressOf(to), from, bytes); });
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                           CUstream stream) {
  return guarded([&] { copy(stream, to, from, bytes); });
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count) {
  return guarded([&] { fill<uint8_t>(nullptr, to, value, count, true); });
}
CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count) {
  return guarded([&] { fill<uint16_t>(nullptr, to, value, count, true); });
}
CUresult cuMemsetD32(CUdeviceptr to, unsigned value, size_t count) {
  return guarded([&] { fill<uint32_t>(nullptr, to, value, count, true); });
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                         CUstream stream) {
  return guarded([&] { fill<uint8_t>(stream, to, value, count, false); });
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,
                          CUstream stream) {
  return guarded([&] { fill<uint16_t>(stream, to, value, count, false); });
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count,
                          CUstream stream) {
  return guarded([&] { fill<uint32_t>(stream, to, value, count, false); });
}

} // extern "C"
