// SPDX-License-Identifier: Apache-2.0
#include "ValueMemory.h"

#include <algorithm>
#include <bit>

namespace backplane::rt {
namespace {

/// Allocations after which an idle buffer is given back.
constexpr uint64_t maxIdleAllocations = 64;

/// The next multiple of a quarter of the power of two below.
uint64_t withRoom(uint64_t bytes) {
  constexpr uint64_t smallest = 256;
  bytes = std::max(bytes, smallest);
  uint64_t step = std::bit_floor(bytes) / 4;
  return (bytes + step - 1) / step * step;
}

} // namespace

bool ValueMemory::takes(const Buffer &buffer, uint64_t offset) const {
  return &buffer.device() == device_.get() &&
         offset % device_->info().c().binding_alignment == 0;
}

Result<std::shared_ptr<Buffer>> ValueMemory::allocate(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  ++allocations_;
  std::erase_if(idle_, [&](const Idle &idle) {
    return allocations_ - idle.since > maxIdleAllocations;
  });
  auto best = idle_.end();
  for (auto it = idle_.begin(); it != idle_.end(); ++it) {
    uint64_t size = it->buffer->size();
    if (size >= bytes && size / 2 <= withRoom(bytes) &&
        (best == idle_.end() || size < best->buffer->size()))
      best = it;
  }
  if (best != idle_.end()) {
    std::shared_ptr<Buffer> buffer = std::move(best->buffer);
    idle_.erase(best);
    return buffer;
  }
  auto fresh = rt::allocate(*device_, budget_, Use::Values, withRoom(bytes));
  if (fresh)
    return fresh;
  // Idle buffers, or the room to grow, may be what is in the way.
  idle_.clear();
  return rt::allocate(*device_, budget_, Use::Values,
                      std::max<uint64_t>(bytes, 1));
}

void ValueMemory::recycle(std::shared_ptr<Buffer> buffer) {
  std::lock_guard lock(mutex_);
  if (buffer && buffer.use_count() == 1 && !buffer->readOnly() &&
      &buffer->device() == device_.get())
    idle_.push_back({std::move(buffer), allocations_});
}

} // namespace backplane::rt
