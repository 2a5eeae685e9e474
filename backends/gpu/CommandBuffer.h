// SPDX-License-Identifier: Apache-2.0
//
// CommandBuffer.h: copies of commands, in whose slots buffers are put when they
// run, and the recordings that were made of them.
#ifndef BACKPLANE_GPU_COMMANDBUFFER_H
#define BACKPLANE_GPU_COMMANDBUFFER_H

#include "Recording.h"

#include <cstdlib>

struct bp_command_buffer_t {
  explicit bp_command_buffer_t(backplane::gpu::Commands commands);

  /// False: there was no memory for the copies.
  bool isWhole() const { return copies_ != nullptr; }
  /// Puts the buffers of the table into the slots.
  void bind(std::span<const bp_binding_t> table);
  /// The commands as they are bound, and what is in the slots.
  backplane::gpu::Commands commands() const { return {copies_.get(), count_}; }
  std::span<const uint64_t> bound() const { return bound_; }

  backplane::gpu::RecordingPool recordings; ///< guarded by the device

private:
  struct Slot {
    bp_binding_t *range;
    uint64_t offset; ///< in what the table has
  };
  struct Free {
    void operator()(bp_header_t **copies) const { std::free(copies); }
  };
  void addSlots(bp_header_t &command);

  std::unique_ptr<bp_header_t *[], Free> copies_;
  uint64_t count_;
  std::vector<Slot> slots_;
  std::vector<uint64_t> bound_; ///< a key and an offset for each slot
};

namespace backplane::gpu {

extern const bp_command_buffer_table_t commandBufferTable;

} // namespace backplane::gpu

#endif // BACKPLANE_GPU_COMMANDBUFFER_H
