// SPDX-License-Identifier: Apache-2.0
//
// CommandList.h: commands in the C form that a driver takes, made from the C++
// form in one pass that also validates them. This is the validation layer for
// everything that runs on a queue.
#ifndef BACKPLANE_CORE_COMMANDLIST_H
#define BACKPLANE_CORE_COMMANDLIST_H

#include "backplane/cpp/Result.h"
#include "hal/core/Command.h"
#include "hal/core/Trace.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace backplane {

class Device;

/// What the commands need of one slot.
struct SlotUse {
  uint64_t extent = 0;       ///< bytes from the start
  bool written = false;      ///< by a kernel, copy or fill
  uint32_t firstCommand = 0; ///< for messages
};

/// Immutable once built. Pointers inside refer to its own members.
struct CommandList {
  /// Checks handles, ranges, alignment, limits, counts and overlap. Bindings
  /// may name slots only when `slotsAllowed`.
  static Result<std::unique_ptr<CommandList>>
  build(const Device &device, std::span<const Command> commands,
        bool slotsAllowed);

  /// Checks that a table fits: buffers of this device, large enough, aligned,
  /// writable where they are written, copies without overlap.
  Status checkTable(const Device &device,
                    std::span<const SlotBinding> table) const;

  /// A copy of the commands with each slot replaced by its buffer. The table
  /// has been checked.
  std::unique_ptr<CommandList>
  resolved(std::span<const SlotBinding> table) const;

  CommandList() = default;
  CommandList(const CommandList &) = delete;
  CommandList &operator=(const CommandList &) = delete;

  std::vector<const bp_header_t *> commands;
  std::vector<bp_command_dispatch_t> dispatches;
  std::vector<bp_command_copy_t> copies;
  std::vector<bp_command_fill_t> fills;
  std::vector<bp_binding_t> bindings;
  std::vector<uint32_t> constants;
  std::vector<int64_t> parameters;
  std::vector<SlotUse> slots;
  std::vector<std::shared_ptr<const void>> alive; ///< what the commands use
  std::shared_ptr<const CommandNotes> notes;      ///< for traces; may be null
};

/// `table` in C form; length 0 becomes the rest of the buffer.
bp_binding_t toC(const SlotBinding &binding);

} // namespace backplane

#endif // BACKPLANE_CORE_COMMANDLIST_H
