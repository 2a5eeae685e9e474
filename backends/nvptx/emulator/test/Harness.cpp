// SPDX-License-Identifier: Apache-2.0
#include "Harness.h"

#include <cstdlib>
#include <dlfcn.h>

namespace emulatortest {
namespace {

#define BP_TEST_TEXT2(name) #name
#define BP_TEST_TEXT(name) BP_TEST_TEXT2(name)

Api open() {
  Api made;
  void *library = dlopen(BP_EMULATOR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::abort();
  }
#define BP_TEST_FIND(name)                                                     \
  made.name = reinterpret_cast<decltype(made.name)>(                           \
      dlsym(library, BP_TEST_TEXT(name)));                                     \
  if (!made.name) {                                                            \
    std::fprintf(stderr, "the library lacks %s\n", BP_TEST_TEXT(name));        \
    std::abort();                                                              \
  }
  BP_TEST_FUNCTIONS(BP_TEST_FIND)
#undef BP_TEST_FIND
  made.cuInit(0);
  made.bp_cuda_emulator_set("log", "0");
  return made;
}

} // namespace

const Api &api() {
  static const Api instance = open();
  return instance;
}

Device::Device(int capability) {
  int count = 0;
  api().cuDeviceGetCount(&count);
  for (int i = 0; i < count; ++i) {
    int major = 0, minor = 0;
    api().cuDeviceGetAttribute(&major,
                               CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, i);
    api().cuDeviceGetAttribute(&minor,
                               CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, i);
    if (major * 10 + minor == capability)
      ordinal = i;
  }
  EXPECT_GE(ordinal, 0) << "no device of capability " << capability;
  EXPECT_EQ(api().cuDevicePrimaryCtxRetain(&context, ordinal), CUDA_SUCCESS);
  EXPECT_EQ(api().cuCtxPushCurrent(context), CUDA_SUCCESS);
}

Device::~Device() {
  // Forgets a fault, so that what follows works.
  api().cuDevicePrimaryCtxReset(ordinal);
  for (CUdeviceptr buffer : buffers)
    api().cuMemFree(buffer);
  for (CUmodule module : modules)
    api().cuModuleUnload(module);
  api().cuCtxPopCurrent(nullptr);
  api().cuDevicePrimaryCtxRelease(ordinal);
}

CUdeviceptr Device::allocate(size_t bytes) {
  CUdeviceptr made = 0;
  EXPECT_EQ(api().cuMemAlloc(&made, bytes), CUDA_SUCCESS);
  buffers.push_back(made);
  return made;
}

CUfunction Device::load(const std::string &ptx, const char *name) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  EXPECT_EQ(api().cuModuleLoadData(&module, ptx.c_str()), CUDA_SUCCESS)
      << error();
  if (!module)
    return nullptr;
  modules.push_back(module);
  EXPECT_EQ(api().cuModuleGetFunction(&function, module, name), CUDA_SUCCESS)
      << error();
  return function;
}

CUresult Device::tryLoad(const std::string &ptx, std::string &message) {
  CUmodule module = nullptr;
  char log[1024] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  CUresult result =
      api().cuModuleLoadDataEx(&module, ptx.c_str(), 2, options, values);
  message = log;
  if (module)
    modules.push_back(module);
  return result;
}

CUresult Device::run(CUfunction function, std::vector<unsigned> grid,
                     std::vector<unsigned> block,
                     std::vector<void *> parameters, unsigned shared) {
  grid.resize(3, 1);
  block.resize(3, 1);
  CUresult result = api().cuLaunchKernel(function, grid[0], grid[1], grid[2],
                                         block[0], block[1], block[2], shared,
                                         nullptr, parameters.data(), nullptr);
  return result == CUDA_SUCCESS ? api().cuCtxSynchronize() : result;
}

std::string module(int capability, const std::string &parameters,
                   const std::string &body, const std::string &before) {
  return ".version 8.6\n.target sm_" + std::to_string(capability) +
         "\n.address_size 64\n" + before + "\n.visible .entry k(" + parameters +
         ")\n{\n" + body + "\n}\n";
}

bp_cuda_emulator_counters counters() {
  bp_cuda_emulator_counters made = {};
  made.struct_size = sizeof(made);
  api().bp_cuda_emulator_read_counters(&made);
  return made;
}

} // namespace emulatortest
