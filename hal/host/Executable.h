// SPDX-License-Identifier: Apache-2.0
//
// Executable.h: a mapped image and the addresses of its entries.
#ifndef BACKPLANE_HOST_EXECUTABLE_H
#define BACKPLANE_HOST_EXECUTABLE_H

#include "Driver.h"
#include "Elf.h"

namespace backplane::host {

struct EntryPoint {
  bp_cpu_entry_t function;
  uint64_t workspaceBytes; ///< per worker
  uint32_t parameterCount;
  bool native = false;
  void *self = nullptr; ///< of a native function
};

struct Executable {
  std::unique_ptr<Image> image;
  std::vector<EntryPoint> entries;
};

} // namespace backplane::host

#endif // BACKPLANE_HOST_EXECUTABLE_H
