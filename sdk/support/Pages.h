// SPDX-License-Identifier: Apache-2.0
//
// Pages.h: memory in front of a page that nobody may touch.
#ifndef BACKPLANE_SUPPORT_PAGES_H
#define BACKPLANE_SUPPORT_PAGES_H

#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>

namespace backplane {

class Pages {
public:
  /// At least `bytes`; end() is null when there is no memory.
  explicit Pages(uint64_t bytes) {
    auto page = uint64_t(sysconf(_SC_PAGESIZE));
    uint64_t usable = (bytes + page - 1) / page * page;
    size_ = usable + page;
    mapping_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping_ == MAP_FAILED)
      return;
    end_ = static_cast<uint8_t *>(mapping_) + usable;
    mprotect(end_, page, PROT_NONE);
  }
  ~Pages() {
    if (end_)
      munmap(mapping_, size_);
  }
  Pages(const Pages &) = delete;
  Pages &operator=(const Pages &) = delete;

  /// One past the last byte that may be touched.
  uint8_t *end() const { return end_; }

private:
  void *mapping_;
  uint64_t size_;
  uint8_t *end_ = nullptr;
};

} // namespace backplane

#endif // BACKPLANE_SUPPORT_PAGES_H
