// SPDX-License-Identifier: Apache-2.0
//
// SpirV.h: reading executables of the format "spirv" with suspicion. Drivers
// of Vulkan trust their shaders, so a module is validated as a whole, and then
// asked whether it fits its entry and the device, before the API sees it.
//
// The blob is words of 32 bits, little-endian: magic, version, the number of
// modules, for each of them the word where it starts and how many it has, then
// the modules. Entry i of the executable is module i.
#ifndef BACKPLANE_VULKAN_SPIRV_H
#define BACKPLANE_VULKAN_SPIRV_H

#include "PhysicalDevice.h"

#include <functional>
#include <span>

namespace backplane::vulkan {

inline constexpr uint32_t blobMagic = 0x56505342;
inline constexpr uint32_t blobVersion = 1;

using Words = std::vector<uint32_t>;
using Module = std::span<const uint32_t>;
inline constexpr size_t headerWords = 5; ///< of a module

/// Takes a blob apart; false, with the reason, when it is damaged. The modules
/// are parts of `words`, which gets a copy of the blob.
bool readBlob(bp_bytes_t blob, Words &words, std::vector<Module> &modules,
              std::string *reason);

/// Calls for each instruction with its opcode and operands; false when one is
/// cut short, or the module has no header.
bool forEachInstruction(Module module,
                        const std::function<void(uint32_t, Module)> &visit);

/// What a module has to agree with.
struct ModuleUse {
  std::string name; ///< of the entry point
  uint32_t workgroupSize[3];
  uint32_t bindings;         ///< the error word included
  uint32_t subgroupSize = 0; ///< that the entry asks for, 0: any
  bool reports = false;      ///< found: it binds the error word
  bool scratch = false;      ///< found: it binds scratch behind the error word
  bool subgroups = false;    ///< found: it asks for operations of subgroups
};

/// Whether a module is valid, fits its entry, and asks for nothing that the
/// device lacks; false with the reason. Finds out what `use` asks.
bool checkModule(Module module, ModuleUse &use, const PhysicalDevice &device,
                 std::string *reason);

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_SPIRV_H
