// SPDX-License-Identifier: Apache-2.0
//
// Cuda.h: the functions of a CUDA driver, which is opened at run time: the
// machine's libcuda.so.1, the emulator beside this plug-in, or another library
// with the same functions. Any may be absent; that is a machine without
// devices, never an error.
#ifndef BACKPLANE_CUDA_CUDA_H
#define BACKPLANE_CUDA_CUDA_H

#include <cuda.h>

#include <span>
#include <string>

namespace backplane::cuda {

/// The functions that the driver calls, by the names that every library since
/// CUDA 11.8 exports.
#define BP_CUDA_FUNCTIONS(X)                                                   \
  X(cuInit, "cuInit")                                                          \
  X(cuDriverGetVersion, "cuDriverGetVersion")                                  \
  X(cuGetErrorName, "cuGetErrorName")                                          \
  X(cuGetErrorString, "cuGetErrorString")                                      \
  X(cuDeviceGetCount, "cuDeviceGetCount")                                      \
  X(cuDeviceGet, "cuDeviceGet")                                                \
  X(cuDeviceGetName, "cuDeviceGetName")                                        \
  X(cuDeviceGetUuid, "cuDeviceGetUuid_v2")                                     \
  X(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId")                                \
  X(cuDeviceTotalMem, "cuDeviceTotalMem_v2")                                   \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute")                              \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")                      \
  X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2")                 \
  X(cuCtxPushCurrent, "cuCtxPushCurrent_v2")                                   \
  X(cuCtxPopCurrent, "cuCtxPopCurrent_v2")                                     \
  X(cuMemAlloc, "cuMemAlloc_v2")                                               \
  X(cuMemFree, "cuMemFree_v2")                                                 \
  X(cuMemFreeAsync, "cuMemFreeAsync")                                          \
  X(cuMemPoolCreate, "cuMemPoolCreate")                                        \
  X(cuMemPoolDestroy, "cuMemPoolDestroy")                                      \
  X(cuMemPoolSetAttribute, "cuMemPoolSetAttribute")                            \
  X(cuMemPoolTrimTo, "cuMemPoolTrimTo")                                        \
  X(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync")                        \
  X(cuMemHostAlloc, "cuMemHostAlloc")                                          \
  X(cuMemFreeHost, "cuMemFreeHost")                                            \
  X(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2")                 \
  X(cuMemHostRegister, "cuMemHostRegister_v2")                                 \
  X(cuMemHostUnregister, "cuMemHostUnregister")                                \
  X(cuMemcpyHtoD, "cuMemcpyHtoD_v2")                                           \
  X(cuMemcpyDtoH, "cuMemcpyDtoH_v2")                                           \
  X(cuMemcpyAsync, "cuMemcpyAsync")                                            \
  X(cuMemsetD8Async, "cuMemsetD8Async")                                        \
  X(cuMemsetD16Async, "cuMemsetD16Async")                                      \
  X(cuMemsetD32Async, "cuMemsetD32Async")                                      \
  X(cuModuleLoadDataEx, "cuModuleLoadDataEx")                                  \
  X(cuModuleUnload, "cuModuleUnload")                                          \
  X(cuModuleGetFunction, "cuModuleGetFunction")                                \
  X(cuModuleGetGlobal, "cuModuleGetGlobal_v2")                                 \
  X(cuFuncGetAttribute, "cuFuncGetAttribute")                                  \
  X(cuFuncSetAttribute, "cuFuncSetAttribute")                                  \
  X(cuLaunchKernel, "cuLaunchKernel")                                          \
  X(cuStreamCreate, "cuStreamCreate")                                          \
  X(cuStreamDestroy, "cuStreamDestroy_v2")                                     \
  X(cuStreamSynchronize, "cuStreamSynchronize")                                \
  X(cuEventCreate, "cuEventCreate")                                            \
  X(cuEventDestroy, "cuEventDestroy_v2")                                       \
  X(cuEventRecord, "cuEventRecord")                                            \
  X(cuEventSynchronize, "cuEventSynchronize")                                  \
  X(cuEventElapsedTime, "cuEventElapsedTime")                                  \
  X(cuStreamWaitEvent, "cuStreamWaitEvent")                                    \
  X(cuStreamBeginCapture, "cuStreamBeginCapture_v2")                           \
  X(cuStreamEndCapture, "cuStreamEndCapture")                                  \
  X(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags")                \
  X(cuGraphLaunch, "cuGraphLaunch")                                            \
  X(cuGraphDestroy, "cuGraphDestroy")                                          \
  X(cuGraphExecDestroy, "cuGraphExecDestroy")

/// An opened library.
class Cuda {
public:
  /// The library of this path, opened when it is first asked for and never
  /// closed: what it starts in the process may outlive a context. Null, with
  /// the reason in `*reason`, where it cannot be used. Thread-safe.
  static const Cuda *shared(const std::string &path, std::string *reason);
  Cuda(const Cuda &) = delete;
  Cuda &operator=(const Cuda &) = delete;

  /// "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered",
  /// and what the library has to say besides, on a line.
  std::string describe(CUresult result) const;
  /// The same, as much of it as fits, without any memory.
  void describe(CUresult result, std::span<char> text) const;
  /// A function that the library exports, or null.
  void *find(const char *name) const;

#define BP_CUDA_MEMBER(function, name) decltype(&::function) function = nullptr;
  BP_CUDA_FUNCTIONS(BP_CUDA_MEMBER)
#undef BP_CUDA_MEMBER
  /// Null in libraries before CUDA 12.0, which know no GPU that needs it.
  decltype(&::cuTensorMapEncodeTiled) cuTensorMapEncodeTiled = nullptr;

private:
  Cuda() = default;
  static const Cuda *open(const std::string &path, std::string *reason);

  void *library_ = nullptr;
  /// Of emulators: more about the last error.
  size_t (*lastError_)(char *text, size_t size) = nullptr;
};

/// NVIDIA's own library.
inline constexpr const char *machineLibrary = "libcuda.so.1";
/// Where the emulator is: beside this plug-in.
std::string emulatorLibrary();

} // namespace backplane::cuda

#endif // BACKPLANE_CUDA_CUDA_H
