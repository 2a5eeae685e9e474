// SPDX-License-Identifier: Apache-2.0
//
// Entry.h: how an entry point of an executable is called.
#ifndef BACKPLANE_PROGRAM_ENTRY_H
#define BACKPLANE_PROGRAM_ENTRY_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace backplane {

/// One entry point, as its compiler described it.
struct Entry {
  std::string name;
  std::vector<uint8_t> bindingAccess; ///< BP_ACCESS_ bits, one per binding
  uint32_t constantCount = 0;
  std::array<uint32_t, 3> workgroupSize = {1, 1, 1};
  uint64_t workspaceBytes = 0; ///< per worker
  uint32_t subgroupSize = 0;   ///< 0: any
  uint32_t parameterCount = 0;
  std::vector<uint8_t> driverData; ///< from its compiler to its driver
};

/// A kernel whose functions its plug-in resolves where the program runs.
struct NativeKernel {
  std::string plugin, name;
  uint32_t version = 1;

  /// "onednn.matmul version 1"
  std::string str() const {
    return plugin + "." + name + " version " + std::to_string(version);
  }
};

/// The format of executables that are functions of the process.
inline constexpr std::string_view nativeFormat = "native";

} // namespace backplane

#endif // BACKPLANE_PROGRAM_ENTRY_H
