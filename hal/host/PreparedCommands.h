// SPDX-License-Identifier: Apache-2.0
//
// PreparedCommands.h: commands in the form in which the CPU runs them:
// functions and pointers looked up, grids counted, commands between two
// barriers grouped into waves. Recorded once, a program runs many times at the
// cost of writing the slots' addresses.
#ifndef BACKPLANE_HOST_PREPAREDCOMMANDS_H
#define BACKPLANE_HOST_PREPAREDCOMMANDS_H

#include "Executable.h"

namespace backplane::host {

/// Bytes that one worker copies or fills at a time.
inline constexpr uint64_t pieceBytes = 256 * 1024;

/// One command. A copy is `source` to `target`, a fill only has a target.
struct PreparedCommand {
  bp_cpu_entry_t function; ///< null for a copy or fill
  uint32_t op;
  uint32_t grid[3];
  uint64_t groups;    ///< pieces that run independently
  uint32_t pointers;  ///< index of the first pointer
  uint32_t constants; ///< index of the first constant
  uint64_t workspace; ///< bytes per worker
  uint64_t length;    ///< bytes of a copy or fill
  uint32_t pattern;   ///< of a fill, widened to four bytes
  bool fill;
};

/// Steps without a barrier between them.
struct Wave {
  uint32_t first;
  uint32_t count;
  uint64_t groups; ///< of all its steps
};

/// A pointer that depends on a slot.
struct Patch {
  uint32_t pointer;
  uint32_t slot;
  uint64_t offset;
};

/// A pointer to the parameters of a dispatch.
struct ParameterPatch {
  uint32_t pointer;
  uint32_t parameter; ///< the first
};

struct PreparedCommands {
  std::vector<PreparedCommand> steps;
  std::vector<Wave> waves;
  std::vector<uint8_t *> pointers;
  std::vector<Patch> patches;
  std::vector<uint32_t> constants;
  std::vector<int64_t> parameters;
  std::vector<ParameterPatch> parameterPatches;
  uint64_t workspace = 0; ///< bytes per worker that the steps need

  /// Translates validated commands; `this` is reused, its memory kept. Refuses
  /// unknown ones.
  Status assign(Commands commands);
};

} // namespace backplane::host

#endif // BACKPLANE_HOST_PREPAREDCOMMANDS_H
