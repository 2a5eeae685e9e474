// SPDX-License-Identifier: Apache-2.0
//
// Assemble.h: PTX to a cubin, by ptxas in a process of its own.
#ifndef BACKPLANE_EMIT_NVPTX_ASSEMBLE_H
#define BACKPLANE_EMIT_NVPTX_ASSEMBLE_H

#include "backplane/cpp/Result.h"

#include <chrono>
#include <cstdint>
#include <vector>

namespace backplane {

/// What ptxas may take.
struct PtxasLimits {
  std::chrono::seconds time{600};
  uint64_t memoryBytes = uint64_t(16) << 30; ///< of addresses
};

struct Cubin {
  std::vector<uint8_t> bytes;
  /// Which ptxas, then for each entry its registers, spills and shared memory.
  std::vector<std::string> notes;
};

/// `cpu` is "sm_90a". Files are made in a folder of the temporary folder of the
/// system, which is removed. Thread-safe.
Result<Cubin> assemble(std::string_view ptx, const std::string &cpu,
                       const PtxasLimits &limits = {});

} // namespace backplane

#endif // BACKPLANE_EMIT_NVPTX_ASSEMBLE_H
