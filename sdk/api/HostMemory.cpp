// SPDX-License-Identifier: Apache-2.0
#include "HostMemory.h"

#include <algorithm>
#include <new>

namespace backplane::rt {
namespace {

constexpr std::align_val_t alignment{256};

} // namespace

HostMemory::HostMemory(uint64_t bytes)
    : data_(static_cast<uint8_t *>(
          ::operator new(std::max<uint64_t>(bytes, 1), alignment))),
      size_(bytes) {}

void HostMemory::Free::operator()(uint8_t *data) const {
  ::operator delete(data, alignment);
}

} // namespace backplane::rt
