// SPDX-License-Identifier: Apache-2.0
//
// Harness.h: the emulator as programs see it: a library that is opened at run
// time and nothing but the functions of the CUDA driver API.
#pragma once

#include "backends/nvptx/emulator/bp_cuda_emulator.h"

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace emulatortest {

#define BP_TEST_FUNCTIONS(X)                                                   \
  X(cuInit)                                                                    \
  X(cuGetErrorName)                                                            \
  X(cuGetProcAddress)                                                          \
  X(cuDeviceGetCount)                                                          \
  X(cuDeviceGet)                                                               \
  X(cuDeviceGetName)                                                           \
  X(cuDeviceGetAttribute)                                                      \
  X(cuDevicePrimaryCtxRetain)                                                  \
  X(cuDevicePrimaryCtxRelease)                                                 \
  X(cuDevicePrimaryCtxReset)                                                   \
  X(cuCtxPushCurrent)                                                          \
  X(cuCtxPopCurrent)                                                           \
  X(cuCtxSynchronize)                                                          \
  X(cuMemAlloc)                                                                \
  X(cuMemFree)                                                                 \
  X(cuMemAllocAsync)                                                           \
  X(cuMemFreeAsync)                                                            \
  X(cuMemHostAlloc)                                                            \
  X(cuMemFreeHost)                                                             \
  X(cuMemHostRegister)                                                         \
  X(cuMemHostUnregister)                                                       \
  X(cuMemHostGetDevicePointer)                                                 \
  X(cuMemcpyHtoD)                                                              \
  X(cuMemcpyDtoH)                                                              \
  X(cuMemcpyAsync)                                                             \
  X(cuMemsetD8Async)                                                           \
  X(cuMemsetD32Async)                                                          \
  X(cuStreamCreate)                                                            \
  X(cuStreamDestroy)                                                           \
  X(cuStreamSynchronize)                                                       \
  X(cuStreamQuery)                                                             \
  X(cuStreamWaitEvent)                                                         \
  X(cuStreamWaitValue32)                                                       \
  X(cuStreamWriteValue32)                                                      \
  X(cuLaunchHostFunc)                                                          \
  X(cuEventCreate)                                                             \
  X(cuEventDestroy)                                                            \
  X(cuEventRecord)                                                             \
  X(cuEventQuery)                                                              \
  X(cuEventSynchronize)                                                        \
  X(cuEventElapsedTime)                                                        \
  X(cuStreamBeginCapture)                                                      \
  X(cuStreamEndCapture)                                                        \
  X(cuGraphDestroy)                                                            \
  X(cuGraphInstantiateWithFlags)                                               \
  X(cuGraphExecDestroy)                                                        \
  X(cuGraphLaunch)                                                             \
  X(cuModuleLoadData)                                                          \
  X(cuModuleLoadDataEx)                                                        \
  X(cuModuleUnload)                                                            \
  X(cuModuleGetFunction)                                                       \
  X(cuModuleGetGlobal)                                                         \
  X(cuFuncGetAttribute)                                                        \
  X(cuFuncSetAttribute)                                                        \
  X(cuLaunchKernel)                                                            \
  X(cuTensorMapEncodeTiled)                                                    \
  X(bp_cuda_emulator_set)                                                      \
  X(bp_cuda_emulator_read_counters)                                            \
  X(bp_cuda_emulator_reset_counters)                                           \
  X(bp_cuda_emulator_last_error)

struct Api {
#define BP_TEST_MEMBER(name) decltype(&::name) name = nullptr;
  BP_TEST_FUNCTIONS(BP_TEST_MEMBER)
#undef BP_TEST_MEMBER
};

// The functions of the library, opened once.
const Api &api();

// A device of one capability with its context current, without the fault that
// an earlier test may have left.
class Device {
public:
  explicit Device(int capability);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  int ordinal = -1;

  // Memory that has the bytes of `values`; freed with the device.
  template <class T> CUdeviceptr put(const std::vector<T> &values) {
    CUdeviceptr made = allocate(values.size() * sizeof(T));
    EXPECT_EQ(
        api().cuMemcpyHtoD(made, values.data(), values.size() * sizeof(T)),
        CUDA_SUCCESS);
    return made;
  }
  template <class T> std::vector<T> get(CUdeviceptr from, size_t count) {
    std::vector<T> values(count);
    EXPECT_EQ(api().cuMemcpyDtoH(values.data(), from, count * sizeof(T)),
              CUDA_SUCCESS)
        << error();
    return values;
  }
  CUdeviceptr allocate(size_t bytes);
  // The kernel `name` of a module of PTX text; fails the test when it is not
  // there.
  CUfunction load(const std::string &ptx, const char *name);
  // What loading says, and the message.
  CUresult tryLoad(const std::string &ptx, std::string &message);
  // Launches and waits.
  CUresult run(CUfunction function, std::vector<unsigned> grid,
               std::vector<unsigned> block, std::vector<void *> parameters,
               unsigned shared = 0);
  std::string error() const {
    std::string text(api().bp_cuda_emulator_last_error(nullptr, 0), '\0');
    api().bp_cuda_emulator_last_error(text.data(), text.size() + 1);
    return text;
  }

private:
  CUcontext context = nullptr;
  std::vector<CUdeviceptr> buffers;
  std::vector<CUmodule> modules;
};

// A whole module around the declarations and the body of one kernel "k".
std::string module(int capability, const std::string &parameters,
                   const std::string &body, const std::string &before = "");

bp_cuda_emulator_counters counters();

} // namespace emulatortest
