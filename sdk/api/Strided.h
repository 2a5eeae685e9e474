// SPDX-License-Identifier: Apache-2.0
//
// Strided.h: the elements of a tensor that need not be dense.
#ifndef BACKPLANE_API_STRIDED_H
#define BACKPLANE_API_STRIDED_H

#include "backplane/cpp/Result.h"

#include <cstdint>
#include <span>

namespace backplane::rt {

/// Bytes that the elements of a tensor take, around its first element.
struct Extent {
  int64_t low = 0;  ///< of the lowest byte, not above 0
  int64_t high = 0; ///< behind the highest byte
  uint64_t bytes() const { return uint64_t(high - low); }
};

/// How a tensor lies in memory. All sizes are at least 0; the strides, in
/// elements, are none when it is dense.
struct Strided {
  std::span<const int64_t> dims, strides;
  uint64_t elementBytes = 1;

  /// Whether the elements follow each other in row-major order.
  bool dense() const;
  /// Fails when it does not fit 64 bits.
  Result<Extent> extent() const;
  /// Elements of a tensor whose first one is at `from`, in row-major order.
  void pack(const uint8_t *from, uint8_t *to) const;
  /// The reverse: `to` is where the first element goes.
  void unpack(const uint8_t *from, uint8_t *to) const;
};

} // namespace backplane::rt

#endif // BACKPLANE_API_STRIDED_H
