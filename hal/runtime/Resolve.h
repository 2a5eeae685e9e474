// SPDX-License-Identifier: Apache-2.0
//
// Resolve.h: a program of an artifact with numbers in place of its expressions:
// the commands of one tuple of symbol values, ready to be recorded.
#ifndef BACKPLANE_RUNTIME_RESOLVE_H
#define BACKPLANE_RUNTIME_RESOLVE_H

#include "Signature.h"
#include "hal/core/Device.h"

namespace backplane::rt {

/// Where the memory of a slot lies: in a buffer or, without one, in an entry of
/// the table that is given when the commands run.
struct Place {
  std::shared_ptr<Buffer> buffer;
  uint32_t tableSlot = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// What a program is resolved against.
struct ResolveContext {
  const std::vector<std::shared_ptr<Executable>> &executables;
  /// Place of a slot that is no transient.
  std::function<Result<Place>(const fb::Slot &slot)> place;
  /// Entry of the table that the arena has.
  uint32_t arenaTableSlot = 0;
  /// Alignment of bindings on the device.
  uint64_t alignment = 64;
  /// Stands in where a binding has no bytes; not empty.
  std::shared_ptr<Buffer> nothing;
};

/// A command that the host runs between the commands before and behind it.
struct ResolvedControl {
  const fb::Control *control = nullptr;
  size_t position = 0; ///< commands before it
  std::vector<Place> operands, results;
};

struct Resolved {
  std::vector<Command> commands;
  std::vector<ResolvedControl> controls; ///< in order
  uint64_t arenaBytes = 0;
};

/// Evaluates sizes, ranges, grids and constants, plans the arena when the
/// artifact has not, and checks every range against its slot. Work on nothing
/// (a grid or a range of size 0) is left out. The `op` of a dispatch is the
/// index of its command in the program, plus 1.
Result<Resolved> resolveProgram(const fb::Program &program,
                                Evaluator &evaluator,
                                const ResolveContext &context);

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_RESOLVE_H
