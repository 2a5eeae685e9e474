// SPDX-License-Identifier: Apache-2.0
//
// EntryDevice.cpp: entry points about the driver, devices, contexts and errors.
#include "Context.h"

#include <algorithm>

namespace emulator {
namespace {

std::atomic<bool> initialized{false};

/// The contexts that a thread has pushed.
struct Stack {
  Context *contexts[16];
  uint32_t depth;

  bool empty() const { return depth == 0; }
  Context *back() const { return contexts[depth - 1]; }
  void pop_back() { --depth; }
  bool push_back(Context *context) {
    if (depth == std::size(contexts))
      return false;
    contexts[depth++] = context;
    return true;
  }
};

/// Every thread has memory for it from its start: glibc ends the process where
/// it cannot allocate the variables of a library on their first use.
[[gnu::tls_model("initial-exec")]] thread_local Stack stack;

struct ErrorRow {
  CUresult code;
  const char *name;
  const char *text;
};
#define BP_ERROR(code, text) {code, #code, text}
constexpr ErrorRow kErrors[] = {
    BP_ERROR(CUDA_SUCCESS, "no error"),
    BP_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    BP_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    BP_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    BP_ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    BP_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    BP_ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    BP_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    BP_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU,
             "no kernel image is available for execution on the device"),
    BP_ERROR(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
    BP_ERROR(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
             "the provided PTX was compiled with an unsupported toolchain."),
    BP_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    BP_ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    BP_ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
    BP_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS,
             "an illegal memory access was encountered"),
    BP_ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
             "too many resources requested for launch"),
    BP_ERROR(CUDA_ERROR_LAUNCH_TIMEOUT,
             "the launch timed out and was terminated"),
    BP_ERROR(CUDA_ERROR_ILLEGAL_INSTRUCTION,
             "an illegal instruction was encountered"),
    BP_ERROR(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    BP_ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    BP_ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
    BP_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
             "operation not permitted when stream is capturing"),
    BP_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
             "operation failed due to a previous error during capture"),
    BP_ERROR(CUDA_ERROR_ILLEGAL_STATE,
             "the operation cannot be performed in the present state"),
    BP_ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
};

const ErrorRow *rowOf(CUresult code) {
  for (const ErrorRow &row : kErrors)
    if (row.code == code)
      return &row;
  return nullptr;
}

const DeviceInfo &info(CUdevice device) {
  if (!initialized)
    fail(CUDA_ERROR_NOT_INITIALIZED, "");
  if (device < 0 || device >= kDevices)
    fail(CUDA_ERROR_INVALID_DEVICE,
         "there is no device " + std::to_string(device) + ", the last is " +
             std::to_string(kDevices - 1));
  return kDevice[device];
}

struct AttributeRow {
  CUdevice_attribute attribute;
  int value;
};
// Those that are the same for all devices.
constexpr AttributeRow kAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 4096},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 40 << 20},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 0},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512}};

int attributeOf(CUdevice_attribute attribute, CUdevice device) {
  const DeviceInfo &of = info(device);
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return of.capability / 10;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    return of.capability % 10;
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    return of.multiprocessors;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    return of.sharedOptin;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
    return of.sharedPerMultiprocessor;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
    return of.threadsPerMultiprocessor;
  case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
    return device;
  default:
    break;
  }
  for (const AttributeRow &row : kAttributes)
    if (row.attribute == attribute)
      return row.value;
  // Features that the emulator lacks.
  return 0;
}

} // namespace

Context &current() {
  if (!initialized)
    fail(CUDA_ERROR_NOT_INITIALIZED, "");
  if (stack.empty() || !stack.back())
    fail(CUDA_ERROR_INVALID_CONTEXT, "");
  Context &context = *stack.back();
  if (CUresult error = context.executor.error(); error != CUDA_SUCCESS)
    fail(error, "");
  return context;
}

} // namespace emulator

using namespace emulator;

extern "C" {

CUresult cuInit(unsigned flags) {
  if (flags)
    return CUDA_ERROR_INVALID_VALUE;
  initialized = true;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = CUDA_VERSION;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult code, const char **name) {
  const ErrorRow *row = rowOf(code);
  *name = row ? row->name : nullptr;
  return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char **text) {
  const ErrorRow *row = rowOf(code);
  *text = row ? row->text : nullptr;
  return row ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count) {
  if (!initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  *count = kDevices;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  return guarded([&] {
    info(ordinal);
    *device = ordinal;
  });
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
  return guarded([&] {
    std::string text = info(device).name;
    if (size <= 0)
      fail(CUDA_ERROR_INVALID_VALUE, "");
    std::strncpy(name, text.c_str(), size_t(size) - 1);
    name[size - 1] = 0;
  });
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) {
  return guarded([&] {
    std::string text = "bp-emulated-";
    text += std::to_string(1000 + info(device).capability);
    std::memcpy(uuid->bytes, text.data(), sizeof(uuid->bytes));
  });
}

CUresult cuDeviceGetPCIBusId(char *text, int size, CUdevice device) {
  return guarded([&] {
    info(device);
    if (size < 13)
      fail(CUDA_ERROR_INVALID_VALUE, "");
    std::snprintf(text, size_t(size), "ffff:%02x:00.0", unsigned(device));
  });
}

CUresult cuDeviceTotalMem(size_t *bytes, CUdevice device) {
  return guarded([&] { *bytes = info(device).memory; });
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                              CUdevice device) {
  return guarded([&] { *value = attributeOf(attribute, device); });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device) {
  return guarded([&] {
    info(device);
    Context &context = primary(device);
    context.executor.start();
    std::scoped_lock lock(context.mutex);
    ++context.references;
    *out = reinterpret_cast<CUcontext>(&context);
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return guarded([&] {
    info(device);
    Context &context = primary(device);
    std::scoped_lock lock(context.mutex);
    if (context.references == 0)
      fail(CUDA_ERROR_INVALID_CONTEXT, "");
    // The last user is gone: as when a process ends, the fault is forgotten.
    if (--context.references == 0) {
      context.executor.wait(nullptr);
      context.executor.clearError();
      writeCounters();
    }
  });
}

CUresult cuDevicePrimaryCtxReset(CUdevice device) {
  return guarded([&] {
    info(device);
    Context &context = primary(device);
    context.executor.wait(nullptr);
    context.executor.clearError();
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags,
                                    int *active) {
  return guarded([&] {
    info(device);
    *flags = 0;
    *active = primary(device).references > 0;
  });
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned) {
  return guarded([&] { info(device); });
}

CUresult cuCtxPushCurrent(CUcontext context) {
  if (!context)
    return CUDA_ERROR_INVALID_VALUE;
  return stack.push_back(reinterpret_cast<Context *>(context))
             ? CUDA_SUCCESS
             : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuCtxPopCurrent(CUcontext *context) {
  if (stack.empty())
    return CUDA_ERROR_INVALID_CONTEXT;
  if (context)
    *context = reinterpret_cast<CUcontext>(stack.back());
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  if (!stack.empty())
    stack.pop_back();
  if (context)
    stack.push_back(reinterpret_cast<Context *>(context));
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  *context =
      stack.empty() ? nullptr : reinterpret_cast<CUcontext>(stack.back());
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device) {
  return guarded([&] { *device = current().device; });
}

CUresult cuCtxSynchronize(void) {
  return guarded([] {
    Context &context = current();
    context.executor.wait(nullptr);
    current();
  });
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
  return CUDA_SUCCESS;
}

} // extern "C"
