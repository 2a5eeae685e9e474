// SPDX-License-Identifier: Apache-2.0
//
// Entry.h: how an entry point of an executable is called.
#ifndef BACKPLANE_PROGRAM_ENTRY_H
#define BACKPLANE_PROGRAM_ENTRY_H

#include <array>
#include <cstdint>
#include <string>
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

} // namespace backplane

#endif // BACKPLANE_PROGRAM_ENTRY_H
