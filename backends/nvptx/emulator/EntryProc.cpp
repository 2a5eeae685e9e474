// SPDX-License-Identifier: Apache-2.0
//
// EntryProc.cpp: cuGetProcAddress, by the plain names of the functions.
#include <cuda.h>

#include <cstring>

namespace {

struct Row {
  const char *name;
  void *function;
};

#define BP_ENTRY(name) {#name, reinterpret_cast<void *>(name)}
const Row kRows[] = {
    BP_ENTRY(cuInit),
    BP_ENTRY(cuDriverGetVersion),
    BP_ENTRY(cuGetErrorName),
    BP_ENTRY(cuGetErrorString),
    BP_ENTRY(cuDeviceGetCount),
    BP_ENTRY(cuDeviceGet),
    BP_ENTRY(cuDeviceGetName),
    BP_ENTRY(cuDeviceGetUuid),
    BP_ENTRY(cuDeviceGetPCIBusId),
    BP_ENTRY(cuDeviceTotalMem),
    BP_ENTRY(cuDeviceGetAttribute),
    BP_ENTRY(cuDevicePrimaryCtxRetain),
    BP_ENTRY(cuDevicePrimaryCtxRelease),
    BP_ENTRY(cuDevicePrimaryCtxReset),
    BP_ENTRY(cuDevicePrimaryCtxGetState),
    BP_ENTRY(cuDevicePrimaryCtxSetFlags),
    BP_ENTRY(cuCtxPushCurrent),
    BP_ENTRY(cuCtxPopCurrent),
    BP_ENTRY(cuCtxSetCurrent),
    BP_ENTRY(cuCtxGetCurrent),
    BP_ENTRY(cuCtxGetDevice),
    BP_ENTRY(cuCtxSynchronize),
    BP_ENTRY(cuCtxGetStreamPriorityRange),
    BP_ENTRY(cuMemGetInfo),
    BP_ENTRY(cuMemAlloc),
    BP_ENTRY(cuMemFree),
    BP_ENTRY(cuMemAllocAsync),
    BP_ENTRY(cuMemFreeAsync),
    BP_ENTRY(cuMemPoolCreate),
    BP_ENTRY(cuMemPoolDestroy),
    BP_ENTRY(cuMemPoolSetAttribute),
    BP_ENTRY(cuMemPoolTrimTo),
    BP_ENTRY(cuMemAllocFromPoolAsync),
    BP_ENTRY(cuMemHostAlloc),
    BP_ENTRY(cuMemAllocHost),
    BP_ENTRY(cuMemFreeHost),
    BP_ENTRY(cuMemHostRegister),
    BP_ENTRY(cuMemHostUnregister),
    BP_ENTRY(cuMemHostGetDevicePointer),
    BP_ENTRY(cuMemGetAddressRange),
    BP_ENTRY(cuMemcpy),
    BP_ENTRY(cuMemcpyHtoD),
    BP_ENTRY(cuMemcpyDtoH),
    BP_ENTRY(cuMemcpyDtoD),
    BP_ENTRY(cuMemcpyAsync),
    BP_ENTRY(cuMemcpyHtoDAsync),
    BP_ENTRY(cuMemcpyDtoHAsync),
    BP_ENTRY(cuMemcpyDtoDAsync),
    BP_ENTRY(cuMemsetD8),
    BP_ENTRY(cuMemsetD16),
    BP_ENTRY(cuMemsetD32),
    BP_ENTRY(cuMemsetD8Async),
    BP_ENTRY(cuMemsetD16Async),
    BP_ENTRY(cuMemsetD32Async),
    BP_ENTRY(cuStreamCreate),
    BP_ENTRY(cuStreamCreateWithPriority),
    BP_ENTRY(cuStreamDestroy),
    BP_ENTRY(cuStreamSynchronize),
    BP_ENTRY(cuStreamQuery),
    BP_ENTRY(cuStreamGetPriority),
    BP_ENTRY(cuStreamGetFlags),
    BP_ENTRY(cuStreamWaitEvent),
    BP_ENTRY(cuStreamWaitValue32),
    BP_ENTRY(cuStreamWaitValue64),
    BP_ENTRY(cuStreamWriteValue32),
    BP_ENTRY(cuStreamWriteValue64),
    BP_ENTRY(cuLaunchHostFunc),
    BP_ENTRY(cuEventCreate),
    BP_ENTRY(cuEventDestroy),
    BP_ENTRY(cuEventRecord),
    BP_ENTRY(cuEventQuery),
    BP_ENTRY(cuEventSynchronize),
    BP_ENTRY(cuEventElapsedTime),
    BP_ENTRY(cuStreamBeginCapture),
    BP_ENTRY(cuStreamEndCapture),
    BP_ENTRY(cuStreamIsCapturing),
    BP_ENTRY(cuGraphDestroy),
    BP_ENTRY(cuGraphGetNodes),
    BP_ENTRY(cuGraphInstantiateWithFlags),
    BP_ENTRY(cuGraphExecDestroy),
    BP_ENTRY(cuGraphUpload),
    BP_ENTRY(cuGraphLaunch),
    BP_ENTRY(cuModuleLoadData),
    BP_ENTRY(cuModuleLoadDataEx),
    BP_ENTRY(cuModuleUnload),
    BP_ENTRY(cuModuleGetFunction),
    BP_ENTRY(cuModuleGetGlobal),
    BP_ENTRY(cuFuncGetAttribute),
    BP_ENTRY(cuFuncSetAttribute),
    BP_ENTRY(cuFuncSetCacheConfig),
    BP_ENTRY(cuLaunchKernel),
    BP_ENTRY(cuLaunchKernelEx),
    BP_ENTRY(cuTensorMapEncodeTiled),
    BP_ENTRY(cuTensorMapReplaceAddress),
    BP_ENTRY(cuGetProcAddress),
};

} // namespace

extern "C" CUresult cuGetProcAddress(const char *symbol, void **function, int,
                                     cuuint64_t,
                                     CUdriverProcAddressQueryResult *status) {
  if (!symbol || !function)
    return CUDA_ERROR_INVALID_VALUE;
  *function = nullptr;
  for (const Row &row : kRows)
    if (std::strcmp(row.name, symbol) == 0)
      *function = row.function;
  if (status)
    *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS
                        : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
