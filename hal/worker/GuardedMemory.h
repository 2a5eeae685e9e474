// SPDX-License-Identifier: Apache-2.0
//
// GuardedMemory.h: memory for one tensor, between pages that nobody may touch.
// Data start 64-aligned, as close to the rear page as that allows; the gaps in
// front and behind hold a pattern that is checked afterwards. Plain memory, as
// an application takes it, is from malloc and not guarded.
#ifndef BACKPLANE_WORKER_GUARDEDMEMORY_H
#define BACKPLANE_WORKER_GUARDEDMEMORY_H

#include "backplane/cpp/Result.h"

#include <cstddef>
#include <cstdint>

namespace backplane::worker {

class GuardedMemory {
public:
  /// Memory with undefined contents; fails when there is none.
  static Result<GuardedMemory> create(uint64_t bytes);
  static Result<GuardedMemory> plain(uint64_t bytes);
  GuardedMemory(GuardedMemory &&other) noexcept;
  GuardedMemory &operator=(GuardedMemory &&) = delete;
  ~GuardedMemory();

  uint8_t *data() const { return data_; }
  uint64_t size() const { return size_; }
  /// Whether the gaps around the data are as they were.
  bool intact() const;

private:
  GuardedMemory() = default;
  uint8_t *mapping_ = nullptr;
  size_t mapped_ = 0; ///< 0: not a mapping, but from malloc
  uint8_t *first_ = nullptr, *last_ = nullptr; ///< of the accessible pages
  uint8_t *data_ = nullptr;
  uint64_t size_ = 0;
};

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_GUARDEDMEMORY_H
