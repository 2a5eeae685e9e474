// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a blob of the Vulkan driver, and as a module in one.
#include "backends/vulkan/driver/SpirV.h"

#include <cstring>

using namespace backplane::vulkan;

static void check(Module module, bool everything) {
  PhysicalDevice device = {};
  device.apiVersion = VK_API_VERSION_1_2;
  device.limits.maxComputeSharedMemorySize = 1 << 15;
  if (everything)
    device.features = {"shaderInt64",
                       "shaderInt8",
                       "shaderInt16",
                       "shaderFloat16",
                       "shaderFloat64",
                       "storageBuffer8BitAccess",
                       "storageBuffer16BitAccess",
                       "subgroupSizeControl"};
  std::string reason;
  ModuleUse use = {};
  use.name = "main";
  use.workgroupSize[0] = 64;
  use.workgroupSize[1] = use.workgroupSize[2] = 1;
  use.bindings = 3;
  (void)checkModule(module, use, device, &reason);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Words words;
  std::vector<Module> modules;
  std::string reason;
  if (readBlob({data, size}, words, modules, &reason))
    for (Module module : modules)
      check(module, size % 8 == 0);
  std::vector<uint32_t> whole(size / 4);
  if (!whole.empty())
    std::memcpy(whole.data(), data, 4 * whole.size());
  check(whole, true);
  return 0;
}
