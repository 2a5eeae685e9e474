// SPDX-License-Identifier: Apache-2.0
//
// Resolve.h: a program of an artifact with numbers in place of its expressions:
// the commands of one tuple of symbol values, ready to be recorded.
#ifndef BACKPLANE_RUNTIME_RESOLVE_H
#define BACKPLANE_RUNTIME_RESOLVE_H

#include "DeviceState.h"
#include "Signature.h"

namespace backplane::rt {

/// What a program is resolved against.
struct ResolveContext {
  const std::vector<std::shared_ptr<Executable>> &executables; ///< null: absent
  /// Place of a slot that is no transient.
  std::function<Result<Binding>(const Slot &slot)> place;
  /// Entry of the table of each device that its arena has.
  uint32_t arenaTableSlot = 0;
  const std::vector<DeviceState> &sides;
};

/// Whether a dispatch does anything: of a native kernel and its fallback, one
/// does.
bool runs(const program::Dispatch &dispatch,
          const std::vector<std::shared_ptr<Executable>> &executables);

/// A command and its device. With `from` it is a transfer: a copy whose source
/// lies on that device.
struct ResolvedCommand {
  Command command;
  uint32_t device = 0;
  std::optional<uint32_t> from;
};

/// A command that the host runs between the commands before and behind it.
struct ResolvedControl {
  const program::Control *control = nullptr;
  uint32_t device = 0; ///< of its slots and regions
  size_t position = 0; ///< commands before it
  std::vector<Binding> operands, results;
};

/// Where a slot lies. A slot whose size data decide has room for the greatest.
struct SlotPlace {
  Binding binding;
  bool isRead = false; ///< its size uses a symbol that the program reads
};

/// A symbol that the commands before it have computed.
struct ResolvedRead {
  const program::Read *read = nullptr;
  uint32_t device = 0; ///< of its slot
  Binding source;
  size_t next = 0; ///< command after it
};

struct Resolved {
  std::vector<ResolvedCommand> commands;
  std::vector<ResolvedControl> controls; ///< in order
  std::vector<uint64_t> arenaBytes;      ///< per device
  std::vector<SlotPlace> places;         ///< per slot
  std::optional<ResolvedRead> read;      ///< that the commands end before
};

/// Evaluates sizes, ranges, grids and constants, plans the arena when the
/// artifact has not, and checks every range against its slot. Work on nothing
/// (a grid or a range of size 0) is left out. The `op` of a dispatch is the
/// index of its command in the program, plus 1. Ends before the first read,
/// whose symbol the commands after it need.
Result<Resolved> resolveProgram(const Program &program, Evaluator &evaluator,
                                const ResolveContext &context);
/// Goes on with command `first`, after the read before it has been given its
/// value. `places` are those that resolveProgram planned.
Result<Resolved> resolveRest(const Program &program, Evaluator &evaluator,
                             const ResolveContext &context,
                             std::vector<SlotPlace> places, size_t first);

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_RESOLVE_H
