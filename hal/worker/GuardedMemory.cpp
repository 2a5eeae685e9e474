// SPDX-License-Identifier: Apache-2.0
#include "GuardedMemory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace backplane::worker {
namespace {

constexpr uint8_t gapPattern = 0xC5;
constexpr uint64_t alignment = 64, maxBytes = uint64_t(1) << 40;
constexpr uint64_t hugePage = uint64_t(2) << 20;

uint64_t roundUp(uint64_t bytes, uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

Status noMemory(uint64_t bytes) {
  return Status(BP_STATUS_RESOURCE_EXHAUSTED,
                "cannot take " + std::to_string(bytes) +
                    " bytes for a tensor; the worker is out of memory");
}

} // namespace

Result<GuardedMemory> GuardedMemory::create(uint64_t bytes) {
  if (bytes > maxBytes)
    return noMemory(bytes);
  const uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
  uint64_t inner = roundUp(std::max<uint64_t>(bytes, 1), page);
  GuardedMemory memory;
  memory.mapped_ = size_t(inner + 2 * page);
  void *mapping = mmap(nullptr, memory.mapped_, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    return noMemory(bytes);
  memory.mapping_ = static_cast<uint8_t *>(mapping);
  memory.first_ = memory.mapping_ + page;
  memory.last_ = memory.first_ + inner;
  if (mprotect(memory.first_, size_t(inner), PROT_READ | PROT_WRITE) != 0)
    return noMemory(bytes);
  // Large tensors come and go with each case: fewer faults, the same memory.
  if (inner >= hugePage)
    (void)madvise(memory.first_, size_t(inner), MADV_HUGEPAGE);
  memory.size_ = bytes;
  memory.data_ = memory.last_ - roundUp(bytes, alignment);
  std::memset(memory.first_, gapPattern, size_t(memory.data_ - memory.first_));
  uint8_t *end = memory.data_ + bytes;
  std::memset(end, gapPattern, size_t(memory.last_ - end));
  return memory;
}

Result<GuardedMemory> GuardedMemory::plain(uint64_t bytes) {
  GuardedMemory memory;
  void *block = bytes > maxBytes
                    ? nullptr
                    : std::malloc(std::max<size_t>(size_t(bytes), 1));
  if (!block)
    return noMemory(bytes);
  memory.mapping_ = memory.data_ = static_cast<uint8_t *>(block);
  memory.first_ = memory.data_;
  memory.last_ = memory.data_ + bytes;
  memory.size_ = bytes;
  return memory;
}

GuardedMemory::GuardedMemory(GuardedMemory &&other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)), mapped_(other.mapped_),
      first_(other.first_), last_(other.last_), data_(other.data_),
      size_(other.size_) {}

GuardedMemory::~GuardedMemory() {
  if (mapping_ && mapped_)
    munmap(mapping_, mapped_);
  else
    std::free(mapping_);
}

bool GuardedMemory::intact() const {
  auto isGap = [](uint8_t byte) { return byte == gapPattern; };
  return std::all_of(first_, data_, isGap) &&
         std::all_of(data_ + size_, last_, isGap);
}

} // namespace backplane::worker
