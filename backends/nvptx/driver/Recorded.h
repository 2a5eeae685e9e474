// SPDX-License-Identifier: Apache-2.0
//
// Recorded.h: command buffers: copies of commands, in whose slots buffers are
// put when they run, and the graphs that were made of them.
#ifndef BACKPLANE_CUDA_RECORDED_H
#define BACKPLANE_CUDA_RECORDED_H

#include "Recording.h"

#include <deque>

namespace backplane::cuda {

/// Commands with all that they point to.
class RecordedCommands {
public:
  explicit RecordedCommands(Commands commands);
  RecordedCommands(const RecordedCommands &) = delete;
  RecordedCommands &operator=(const RecordedCommands &) = delete;

  /// Puts the buffers of the table into the slots.
  void bind(std::span<const bp_binding_t> table);
  /// The commands, as they are bound, and where the buffers in slots are.
  Commands commands() const { return commands_; }
  std::span<const CUdeviceptr> bound() const { return bound_; }

private:
  struct Dispatch {
    bp_command_dispatch_t command;
    std::vector<bp_binding_t> bindings;
    std::vector<uint32_t> constants;
    std::vector<int64_t> parameters;
  };
  struct Slot {
    bp_binding_t *range;
    uint64_t offset; ///< in what the table has
  };
  void add(const bp_command_dispatch_t &dispatch);
  void add(const bp_command_copy_t &copy);
  void add(const bp_command_fill_t &fill);
  void addRange(bp_binding_t &range);

  std::vector<const bp_header_t *> commands_;
  std::deque<Dispatch> dispatches_;
  std::deque<bp_command_copy_t> copies_;
  std::deque<bp_command_fill_t> fills_;
  std::vector<Slot> slots_;
  std::vector<CUdeviceptr> bound_; ///< of each slot
};

} // namespace backplane::cuda

struct bp_command_buffer_t {
  explicit bp_command_buffer_t(backplane::cuda::Commands commands)
      : program(commands) {}

  backplane::cuda::RecordedCommands program;
  backplane::cuda::RecordingPool recordings; ///< guarded by the device
};

#endif // BACKPLANE_CUDA_RECORDED_H
