// SPDX-License-Identifier: Apache-2.0
//
// HostMemory.h: bytes of the host, aligned so that any device that imports host
// memory takes them.
#ifndef BACKPLANE_API_HOSTMEMORY_H
#define BACKPLANE_API_HOSTMEMORY_H

#include <cstdint>
#include <memory>
#include <span>

namespace backplane::rt {

/// Contents are undefined at first. Throws std::bad_alloc.
class HostMemory {
public:
  HostMemory() = default;
  explicit HostMemory(uint64_t bytes);

  uint8_t *data() const { return data_.get(); }
  uint64_t size() const { return size_; }
  std::span<uint8_t> span() const { return {data_.get(), size_}; }

private:
  struct Free {
    void operator()(uint8_t *data) const;
  };
  std::unique_ptr<uint8_t[], Free> data_;
  uint64_t size_ = 0;
};

} // namespace backplane::rt

#endif // BACKPLANE_API_HOSTMEMORY_H
