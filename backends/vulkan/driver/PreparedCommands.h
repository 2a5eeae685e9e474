// SPDX-License-Identifier: Apache-2.0
//
// PreparedCommands.h: commands as the driver keeps them: what is valid during a
// call only is copied, and what recording them needs is counted.
#ifndef BACKPLANE_VULKAN_PREPAREDCOMMANDS_H
#define BACKPLANE_VULKAN_PREPAREDCOMMANDS_H

#include "Executable.h"

#include <optional>

namespace backplane::vulkan {

/// One command.
struct PreparedCommand {
  enum Kind : uint32_t { Dispatch, Copy, Fill, Barrier };
  Kind kind;
  uint32_t op;
  const EntryPoint *entry; ///< of a dispatch
  uint32_t grid[3];
  uint32_t ranges;    ///< index of the first range; a copy: source, target
  uint32_t constants; ///< index of the first constant
  uint32_t constantCount;
  uint32_t parameters; ///< index of the first parameter
  uint32_t parameterCount;
  uint32_t pattern;   ///< of a fill, widened to four bytes
  uint64_t workspace; ///< bytes of scratch per work-group
  uint32_t command;   ///< where it came from
};

/// What a command lists needs of the one that runs it.
struct PreparedCommands {
  std::vector<PreparedCommand> steps;
  std::vector<bp_binding_t> ranges;
  std::vector<uint32_t> constants;
  std::vector<int64_t> parameters;
  std::vector<uint32_t> slots; ///< that are used, sorted
  uint32_t dispatches = 0;
  uint32_t fills = 0;
  uint32_t descriptors = 0;
  uint64_t scratch = 0; ///< bytes of all dispatches together
  bool mayFail = false; ///< a kernel in it reports errors

  /// Translates validated commands; memory of earlier ones is kept. Gives the
  /// type of the first command that it does not know.
  std::optional<uint32_t> assign(const bp_header_t *const *commands,
                                 uint64_t count);

private:
  void add(const bp_command_dispatch_t &dispatch);
  void add(const bp_command_copy_t &copy);
  void add(const bp_command_fill_t &fill);
  void addRange(const bp_binding_t &range);
};

/// Scratch of a dispatch starts at multiples of this.
inline constexpr uint64_t scratchAlignment = 256;

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_PREPAREDCOMMANDS_H
