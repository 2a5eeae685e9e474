// SPDX-License-Identifier: Apache-2.0
//
// Memory.h: the device memory of a session, counted against its budget.
#ifndef BACKPLANE_RUNTIME_MEMORY_H
#define BACKPLANE_RUNTIME_MEMORY_H

#include "hal/core/Device.h"
#include "sdk/package/Artifact.h"

#include <array>

namespace backplane::rt {

/// What a session needs memory for.
enum class Use { Weights, Constants, Variables, Arena, Staging, Values };

/// Counts bytes. Thread-safe.
class Budget {
public:
  explicit Budget(uint64_t limit) : limit_(limit) {}
  /// Counts bytes before they are allocated; a failure names what is in use.
  Status take(Use use, uint64_t bytes);
  void give(Use use, uint64_t bytes);
  uint64_t total() const;

private:
  mutable std::mutex mutex_;
  uint64_t limit_; ///< 0: none
  std::array<uint64_t, 6> used_ = {};
};

/// Whether kernels must not use memory of the host: BP_DEVICE_DISCRETE.
bool isDiscrete(const Device &device);

/// Allocates and counts; the bytes count until the buffer is gone.
Result<std::shared_ptr<Buffer>> allocate(Device &device,
                                         const std::shared_ptr<Budget> &budget,
                                         Use use, uint64_t bytes);

/// Several pieces of memory in one buffer.
struct Pieces {
  std::shared_ptr<Buffer> buffer;
  std::map<uint32_t, uint64_t> offsets; ///< by number of the piece
};

/// Lays out pieces (number and size) one after the other in a new buffer, each
/// where any binding may start. No pieces give no buffer.
Result<Pieces> allocatePieces(Device &device,
                              const std::shared_ptr<Budget> &budget, Use use,
                              const std::map<uint32_t, uint64_t> &sizes);

/// Writes zeros.
Status clear(Buffer &buffer, uint64_t offset, uint64_t bytes);

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_MEMORY_H
