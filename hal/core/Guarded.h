// SPDX-License-Identifier: Apache-2.0
//
// Guarded.h: a struct that a plug-in fills, with a gap after it. A plug-in of a
// later minor version that forgets to look at header.size writes into the gap,
// where it does no harm and is found.
#ifndef BACKPLANE_CORE_GUARDED_H
#define BACKPLANE_CORE_GUARDED_H

#include "backplane/abi.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace backplane {

template <typename T> class Guarded {
public:
  explicit Guarded(bp_header_t header) {
    value_.header = header;
    gap_.fill(untouched);
  }
  T &value() { return value_; }
  bool intact() const {
    return std::all_of(gap_.begin(), gap_.end(),
                       [](uint8_t byte) { return byte == untouched; });
  }

private:
  static constexpr uint8_t untouched = 0x5C;
  T value_ = {};
  std::array<uint8_t, 4096> gap_;
};

} // namespace backplane

#endif // BACKPLANE_CORE_GUARDED_H
