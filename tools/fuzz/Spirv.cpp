// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a blob of the Vulkan driver, and as a module in one.
#include "backends/vulkan/driver/MatrixModule.h"

#include <cstdlib>
#include <cstring>
#include <random>

using namespace backplane::vulkan;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);

/// A device that has all there is, or little.
static PhysicalDevice deviceWith(bool everything) {
  PhysicalDevice device = {};
  device.apiVersion = everything ? VK_API_VERSION_1_3 : VK_API_VERSION_1_2;
  for (uint32_t &size : device.limits.maxComputeWorkGroupSize)
    size = 128;
  device.limits.maxComputeWorkGroupInvocations = 128;
  device.subgroupSize = 32;
  if (!everything)
    return device;
  device.features = {"shaderInt64",
                     "shaderInt8",
                     "shaderInt16",
                     "shaderFloat16",
                     "shaderFloat64",
                     "storageBuffer8BitAccess",
                     "storageBuffer16BitAccess",
                     "subgroupSizeControl",
                     "subgroupBasic",
                     "subgroupShuffle",
                     "vulkanMemoryModel",
                     "cooperativeMatrix",
                     "computeFullSubgroups"};
  device.matrixShapes = {{0, 1, 16, 16, 16}, {3, 5, 16, 8, 32}};
  return device;
}

static void check(Module module, bool everything) {
  std::string reason;
  ModuleUse use = {"main", {64, 1, 1}, 3};
  if (checkModule(module, use, deviceWith(everything), &reason) !=
      reason.empty())
    std::abort(); // a refusal has a reason, and nothing else has
  (void)withOlderMatrices(module);
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

/// Puts words of a module into others of its places, so that much of it stays
/// valid; or what bytes suggest.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t capacity, unsigned seed) {
  std::minstd_rand random(seed);
  size_t words = size / 4;
  if (words < 2 || random() % 4 == 0)
    return LLVMFuzzerMutate(data, size, capacity);
  uint32_t word;
  std::memcpy(&word, data + 4 * (random() % words), 4);
  if (random() % 4 == 0)
    word = uint32_t(random() % 32);
  std::memcpy(data + 4 * (random() % words), &word, 4);
  return size;
}
