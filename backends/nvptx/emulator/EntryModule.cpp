// SPDX-License-Identifier: Apache-2.0
//
// EntryModule.cpp: entry points about modules, functions and launches.
#include "Context.h"
#include "ModuleFile.h"

#include <algorithm>

namespace emulator {
namespace {

// The buffers for messages among the options of a JIT.
struct Log {
  char *text = nullptr;
  size_t size = 0;
  size_t sizeAt = SIZE_MAX; // the option that gets the length

  void write(void **values, const std::string &message) const {
    if (!text || !size)
      return;
    size_t length = std::min(message.size(), size - 1);
    std::memcpy(text, message.data(), length);
    text[length] = 0;
    if (sizeAt != SIZE_MAX)
      values[sizeAt] = reinterpret_cast<void *>(length);
  }
};

Log errorLog(unsigned count, const CUjit_option *options, void **values) {
  Log log;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      log.text = static_cast<char *>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
      log.size = reinterpret_cast<size_t>(values[i]) & 0xffffffff;
      log.sizeAt = i;
    }
  }
  return log;
}

void load(CUmodule *out, const void *image, unsigned count,
          const CUjit_option *options, void **values) {
  Context &context = current();
  if (!out || !image)
    fail(CUDA_ERROR_INVALID_VALUE, "");
  Log log = errorLog(count, options, values);
  // PTX is a string; a binary tells itself by its first bytes.
  const auto *text = static_cast<const char *>(image);
  std::unique_ptr<Module> module;
  try {
    std::string kept = keptText(text, currentOptions().modules);
    module = loadModule(context, kept);
  } catch (const Error &error) {
    log.write(values, error.text);
    throw;
  }
  std::scoped_lock lock(context.mutex);
  *out = reinterpret_cast<CUmodule>(module.get());
  context.modules[module.get()] = std::move(module);
}

Module &moduleOf(CUmodule handle) {
  Context &context = current();
  std::scoped_lock lock(context.mutex);
  auto found = context.modules.find(reinterpret_cast<Module *>(handle));
  if (found == context.modules.end())
    fail(CUDA_ERROR_INVALID_HANDLE, "");
  return *found->second;
}

LoadedFunction &functionOf(CUfunction handle) {
  if (!handle)
    fail(CUDA_ERROR_INVALID_HANDLE, "");
  return *reinterpret_cast<LoadedFunction *>(handle);
}

void checkShape(const LoadedFunction &function, const Launch &launch) {
  const Kernel &kernel = *function.kernel;
  uint64_t threads = 1;
  const uint32_t maxGrid[3] = {2147483647, 65535, 65535};
  const uint32_t maxBlock[3] = {1024, 1024, 64};
  for (int i = 0; i < 3; ++i) {
    threads *= launch.block[i];
    if (!launch.grid[i] || !launch.block[i] || launch.grid[i] > maxGrid[i] ||
        launch.block[i] > maxBlock[i])
      fail(CUDA_ERROR_INVALID_VALUE,
           "kernel '" + kernel.name + "': a grid of " +
               std::to_string(launch.grid[i]) + " blocks of " +
               std::to_string(launch.block[i]) + " threads in dimension " +
               std::to_string(i));
    if (kernel.neededThreads[0] && kernel.neededThreads[i] != launch.block[i])
      fail(CUDA_ERROR_INVALID_VALUE,
           "kernel '" + kernel.name + "' needs the shape of its .reqntid");
  }
  if (threads > std::min(kernel.maxThreads, 1024u))
    fail(CUDA_ERROR_INVALID_VALUE,
         "kernel '" + kernel.name + "': a block has " +
             std::to_string(threads) + " threads, at most " +
             std::to_string(std::min(kernel.maxThreads, 1024u)) +
             " are allowed");
  uint64_t shared = kernel.staticShared + launch.dynamicShared;
  auto limit = uint64_t(std::max(function.dynamicSharedLimit, 48 * 1024));
  if (launch.dynamicShared > uint32_t(function.dynamicSharedLimit) ||
      shared > limit)
    fail(CUDA_ERROR_INVALID_VALUE,
         "kernel '" + kernel.name + "': a block asks for " +
             std::to_string(shared) + " bytes of shared memory, " +
             std::to_string(limit) +
             " are allowed; raise "
             "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES");
}

std::vector<uint8_t> parametersOf(const Kernel &kernel, void **parameters,
                                  void **extra) {
  std::vector<uint8_t> bytes(kernel.parameterBytes);
  if (parameters) {
    for (size_t i = 0; i < kernel.parameters.size(); ++i)
      std::memcpy(bytes.data() + kernel.parameters[i].offset, parameters[i],
                  kernel.parameters[i].bytes);
    return bytes;
  }
  const void *buffer = nullptr;
  size_t size = 0;
  for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = extra[1];
    else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
      size = *static_cast<size_t *>(extra[1]);
    else
      fail(CUDA_ERROR_INVALID_VALUE, "an unknown extra of a launch");
  }
  if (bytes.empty())
    return bytes;
  if (!buffer || size < bytes.size())
    fail(CUDA_ERROR_INVALID_VALUE,
         "kernel '" + kernel.name + "' has " + std::to_string(bytes.size()) +
             " bytes of parameters, the launch gives " + std::to_string(size));
  std::memcpy(bytes.data(), buffer, bytes.size());
  return bytes;
}

void launch(CUfunction handle, const uint32_t *grid, const uint32_t *block,
            uint32_t shared, CUstream stream, void **parameters, void **extra) {
  Context &context = current();
  LoadedFunction &function = functionOf(handle);
  auto made = std::make_shared<Launch>();
  made->kernel = function.kernel.get();
  std::copy_n(grid, 3, made->grid);
  std::copy_n(block, 3, made->block);
  made->dynamicShared = shared;
  made->device = context.device;
  checkShape(function, *made);
  made->parameters = parametersOf(*function.kernel, parameters, extra);
  context.submit(context.stream(stream), [made] {
    // Several launches of a graph share what is here.
    Launch one = *made;
    one.options = currentOptions();
    try {
      one.run();
    } catch (...) {
      addCounters(one.counters);
      throw;
    }
    addCounters(one.counters);
  });
}

int attribute(const LoadedFunction &function, CUfunction_attribute which) {
  const Kernel &kernel = *function.kernel;
  switch (which) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    return int(std::min(kernel.maxThreads, 1024u));
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    return int(kernel.staticShared);
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    return int(kernel.localBytes);
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    return int(std::min<uint32_t>(kernel.registerCount, 255));
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    return kDevice[function.module->context->device].capability;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    return function.dynamicSharedLimit;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    return -1;
  default:
    return 0;
  }
}

} // namespace
} // namespace emulator

using namespace emulator;

extern "C" {

CUresult cuModuleLoadData(CUmodule *out, const void *image) {
  return guarded([&] { load(out, image, 0, nullptr, nullptr); });
}

CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned count,
                            CUjit_option *options, void **values) {
  return guarded([&] { load(out, image, count, options, values); });
}

CUresult cuModuleUnload(CUmodule handle) {
  return guarded([&] {
    Context &context = current();
    moduleOf(handle);
    context.executor.wait(nullptr);
    std::scoped_lock lock(context.mutex);
    context.modules.erase(reinterpret_cast<Module *>(handle));
  });
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule handle,
                             const char *name) {
  return guarded([&] {
    Module &module = moduleOf(handle);
    auto found = module.functions.find(name);
    if (found == module.functions.end())
      fail(CUDA_ERROR_NOT_FOUND,
           std::string("the module has no kernel '") + name + "'");
    *out = reinterpret_cast<CUfunction>(found->second.get());
  });
}

CUresult cuModuleGetGlobal(CUdeviceptr *address, size_t *bytes, CUmodule handle,
                           const char *name) {
  return guarded([&] {
    Module &module = moduleOf(handle);
    auto found = module.symbols.find(name);
    if (found == module.symbols.end())
      fail(CUDA_ERROR_NOT_FOUND,
           std::string("the module has no variable '") + name + "'");
    if (address)
      *address = found->second.address;
    if (bytes)
      *bytes = found->second.bytes;
  });
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which,
                            CUfunction handle) {
  return guarded([&] { *value = attribute(functionOf(handle), which); });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute which,
                            int value) {
  return guarded([&] {
    LoadedFunction &function = functionOf(handle);
    if (which == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
      return;
    if (which != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
      fail(CUDA_ERROR_INVALID_VALUE, "the attribute cannot be set");
    int most = kDevice[function.module->context->device].sharedOptin -
               int(function.kernel->staticShared);
    if (value < 0 || value > most)
      fail(CUDA_ERROR_INVALID_VALUE,
           "a block may have " + std::to_string(most) +
               " bytes of dynamic shared memory, not " + std::to_string(value));
    function.dynamicSharedLimit = value;
  });
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache) {
  return guarded([&] { functionOf(handle); });
}

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy,
                        unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, CUstream stream, void **parameters,
                        void **extra) {
  return guarded([&] {
    const uint32_t grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
    launch(function, grid, block, shared, stream, parameters, extra);
  });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                          void **parameters, void **extra) {
  return guarded([&] {
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      const CUlaunchAttribute &one = config->attrs[i];
      bool single = one.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
                    one.value.clusterDim.x * one.value.clusterDim.y *
                            one.value.clusterDim.z ==
                        1;
      // One launch comes after another here anyway.
      bool harmless =
          one.id == CU_LAUNCH_ATTRIBUTE_IGNORE || single ||
          one.id == CU_LAUNCH_ATTRIBUTE_PRIORITY ||
          one.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      if (!harmless)
        fail(CUDA_ERROR_NOT_SUPPORTED, "the attribute " +
                                           std::to_string(int(one.id)) +
                                           " of a launch is not supported");
    }
    const uint32_t grid[3] = {config->gridDimX, config->gridDimY,
                              config->gridDimZ};
    const uint32_t block[3] = {config->blockDimX, config->blockDimY,
                               config->blockDimZ};
    launch(function, grid, block, config->sharedMemBytes, config->hStream,
           parameters, extra);
  });
}

} // extern "C"
