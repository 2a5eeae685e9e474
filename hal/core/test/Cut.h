// SPDX-License-Identifier: Apache-2.0
//
// Cut.h: growable structs as an older build has them, in front of a page that
// nobody may touch.
#ifndef BACKPLANE_CORE_TEST_CUT_H
#define BACKPLANE_CORE_TEST_CUT_H

#include "backplane/abi.h"
#include "sdk/support/Pages.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <string>

namespace backplane {

/// The first `size` bytes of a struct, at the end of a page.
template <typename T> class Cut {
public:
  Cut(const T &whole, uint32_t size) : pages_(sizeof(T)) {
    uint8_t *begin = pages_.end() - size;
    std::memcpy(begin, &whole, size);
    value_ = reinterpret_cast<T *>(begin);
    value_->header.size = size;
  }
  T *get() const { return value_; }

private:
  Pages pages_;
  T *value_;
};

template <typename T>
void atEachSize(const T &whole,
                const std::function<void(T *, uint32_t size)> &read) {
  for (uint32_t size = sizeof(bp_header_t); size <= sizeof(T); size += 8) {
    SCOPED_TRACE("size " + std::to_string(size));
    read(Cut<T>(whole, size).get(), size);
  }
}

/// What a reader must see of a struct that was cut.
template <typename T> T zeroFilled(const T &whole, uint32_t size) {
  T expected = {};
  std::memcpy(static_cast<void *>(&expected), &whole, size);
  expected.header.size = sizeof(T);
  return expected;
}

} // namespace backplane

#endif // BACKPLANE_CORE_TEST_CUT_H
