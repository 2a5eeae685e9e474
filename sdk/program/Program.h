// SPDX-License-Identifier: Apache-2.0
//
// Program.h: a scheduled program: the memory that it uses and the commands that
// it runs, in order. The scheduler makes it, an artifact stores it, the runtime
// runs it. Sizes are dims over the symbols of the artifact.
#ifndef BACKPLANE_PROGRAM_PROGRAM_H
#define BACKPLANE_PROGRAM_PROGRAM_H

#include "sdk/graph/Dim.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace backplane {

enum class SlotKind : uint8_t {
  Input,
  Output,
  Transient,
  Weight,
  Variable,
  Constant,
};

/// "Input"
std::string_view name(SlotKind kind);

/// A piece of memory that commands name. Constant slots are written by the
/// init program, once per session: the slots of init and program with the same
/// index are the same memory. The init program uses transients, weights and
/// constants only, and no symbols.
struct Slot {
  SlotKind kind = SlotKind::Transient;
  /// Of the input, output, weight, variable or constant.
  uint32_t index = 0;
  /// An input, output, weight or variable may have none; else it equals the
  /// size of what it names.
  std::optional<Dim> bytes;
  // Of a transient: first and last command that uses it; offset in the arena
  // when it is known at compile time, else -1 and the runtime plans it.
  uint32_t first = 0;
  uint32_t last = 0;
  int64_t offset = -1;
  /// Of a transient: slot whose memory this one may take when that one's last
  /// command is the first of this one (in place); -1: none.
  int32_t reuse = -1;
  /// Number of the variant's device whose memory it is.
  uint8_t device = 0;
};

/// Some bytes of a slot.
struct SlotRange {
  uint32_t slot = 0;
  std::optional<Dim> offset; ///< none: 0
  std::optional<Dim> length; ///< none: to the end of the slot
};

namespace program {

/// Runs an entry of an executable, on the device of its slots. With a native
/// executable that is absent it does nothing.
struct Dispatch {
  uint32_t executable = 0;
  uint32_t entry = 0;
  std::array<Dim, 3> grid = {Dim(1), Dim(1), Dim(1)};
  std::vector<Dim> constants; ///< u32 each
  std::vector<SlotRange> bindings;
  std::string name; ///< "conv_3"
  /// Locations of the ops inside, for errors and tracing. The op id of the
  /// dispatch, which the error word reports, is its command's index plus 1.
  std::vector<std::string> ops;
  std::optional<Dim> workspace; ///< bytes per worker; none: the entry's
  /// Float multiplications and additions of its contractions, for traces only;
  /// none: unknown.
  std::optional<Dim> flops;
  std::vector<Dim> parameters;    ///< i64 each
  std::optional<Dim> sharedBytes; ///< dynamic, of a work-group; none: 0
  std::array<uint32_t, 3> cluster{1, 1, 1}; ///< work-groups on each axis
  /// A native executable in whose place it runs where that is absent.
  std::optional<uint32_t> fallbackFor;
};

/// Between slots of two devices it is a transfer, which the host makes.
struct Copy {
  SlotRange source, target;
};

/// Repeats the low `patternSize` (1, 2 or 4) bytes of `pattern`.
struct Fill {
  SlotRange target;
  uint32_t pattern = 0;
  uint32_t patternSize = 1;
};

/// Later commands see all writes of earlier ones; those between two barriers
/// may overlap.
struct Barrier {};

enum class ControlKind : uint8_t { If, While };

/// A command that the host runs: it looks at a predicate and runs the programs
/// of regions. All commands before it have finished, and it has before any
/// later one starts. Operands and results are slots; results are slots of their
/// own. docs/reference/control.md has the meaning.
struct Control {
  ControlKind kind = ControlKind::If;
  /// [predicate,] values; of a While the carried ones first.
  std::vector<uint32_t> operands;
  std::vector<uint32_t> results; ///< of a While: carried, then stacked
  /// Of an If: then, else; of a While: its body.
  std::vector<uint32_t> regions;
  std::optional<Dim> condition; ///< If: decides in place of the predicate
  bool conditional = false;     ///< While: has a predicate
  uint32_t carried = 0;         ///< While: how many values are carried
  std::optional<Dim> limit;     ///< While: number of iterations
  std::string op;               ///< location, for errors
};

/// A command of the host: defines a symbol as the i64 in a slot, which lies in
/// [0, bound], or the call fails. All commands before it have finished. Later
/// commands, sizes of slots and outputs use the symbol.
struct Read {
  uint32_t slot = 0; ///< of 8 bytes
  std::string symbol;
  Dim bound;
  std::string op; ///< location, for errors
};

using Command = std::variant<Dispatch, Copy, Fill, Barrier, Control, Read>;

} // namespace program

struct Program {
  std::vector<Slot> slots;
  std::vector<program::Command> commands;
  /// Bytes of the arena on each device; -1 or absent: planned at run time.
  std::vector<int64_t> arenas;

  int64_t arenaBytes(uint32_t device) const {
    return device < arenas.size() ? arenas[device] : -1;
  }
};

/// Whether its work-groups run in clusters of more than one.
bool hasClusters(const program::Dispatch &dispatch);

/// The slots that a command names.
std::vector<uint32_t> slotsOf(const program::Command &command);

/// For each command, how many barriers are before it: commands with equal
/// numbers may overlap.
std::vector<uint32_t> barriersBefore(const Program &program);

} // namespace backplane

#endif // BACKPLANE_PROGRAM_PROGRAM_H
