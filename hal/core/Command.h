// SPDX-License-Identifier: Apache-2.0
//
// Command.h: work for a queue, in the form in which C++ code of the host
// writes it: dispatches, copies, fills and barriers over buffers or slots.
#ifndef BACKPLANE_CORE_COMMAND_H
#define BACKPLANE_CORE_COMMAND_H

#include "backplane/hal.h"

#include <array>
#include <memory>
#include <variant>
#include <vector>

namespace backplane {

class Buffer;
class Executable;

/// A range of a buffer or, while `buffer` is null, of the buffer that slot
/// `slot` has when the recorded commands run.
struct Binding {
  std::shared_ptr<Buffer> buffer;
  uint64_t offset = 0; ///< bytes
  uint64_t length = 0; ///< bytes
  uint32_t slot = 0;
};

/// Runs an entry of an executable on a grid of work-groups.
struct Dispatch {
  std::shared_ptr<Executable> executable;
  uint32_t entry = 0;
  uint32_t op = 0; ///< id that a failure of the kernel names
  std::array<uint32_t, 3> grid = {1, 1, 1};
  std::vector<Binding> bindings;
  std::vector<uint32_t> constants;
  uint64_t workspaceBytes = 0; ///< per worker; 0: what the entry says
  std::vector<int64_t> parameters;
  std::array<uint32_t, 3> cluster = {1, 1, 1}; ///< work-groups on each axis
  uint64_t sharedBytes = 0; ///< dynamic shared memory of a work-group
};

/// Copies between ranges of equal length that do not overlap.
struct Copy {
  Binding source;
  Binding target;
};

/// Repeats the low `patternSize` (1, 2 or 4) bytes of `pattern`.
struct Fill {
  Binding target;
  uint32_t pattern = 0;
  uint32_t patternSize = 1;
};

/// Later commands see all writes of earlier ones. Without a barrier between
/// them, commands of one list may overlap.
struct Barrier {};

using Command = std::variant<Dispatch, Copy, Fill, Barrier>;

/// What a slot is bound to when recorded commands run. Offsets of the recorded
/// bindings count from `offset`.
struct SlotBinding {
  Buffer *buffer = nullptr; ///< kept alive by the caller until it is done
  uint64_t offset = 0;      ///< bytes, a multiple of binding_alignment
  uint64_t length = 0;      ///< bytes, 0: to the end of the buffer
};

} // namespace backplane

#endif // BACKPLANE_CORE_COMMAND_H
