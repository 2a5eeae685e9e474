// SPDX-License-Identifier: Apache-2.0
//
// Tensor.h: a dense row-major tensor in host memory, byte for byte as a device
// gets and gives it (docs/reference/abi.md): i4 and u4 are packed, low nibble
// first; bool is a byte of 0 or 1.
#ifndef BACKPLANE_CONFORMANCE_ORACLE_TENSOR_H
#define BACKPLANE_CONFORMANCE_ORACLE_TENSOR_H

#include "sdk/graph/Graph.h"

#include <cstring>

namespace backplane::conformance {

struct Tensor {
  DType dtype = DType::Invalid;
  std::vector<int64_t> dims;
  Bytes data;

  size_t elementCount() const {
    size_t count = 1;
    for (int64_t dim : dims)
      count *= static_cast<size_t>(dim);
    return count;
  }
};

/// The type of floats in the oracle: at least as wide as f64, and wider where
/// the machine has it (x86-64: 64 significand bits), so that f64 can be judged.
using Real = long double;

/// An element of 1, 2, 4 or 8 bytes. Copies of a size that is known are moves.
inline uint64_t loadBytes(const uint8_t *from, size_t bytes) {
  uint64_t bits = 0;
  switch (bytes) {
  case 1:
    return *from;
  case 2:
    std::memcpy(&bits, from, 2);
    return bits;
  case 4:
    std::memcpy(&bits, from, 4);
    return bits;
  default:
    std::memcpy(&bits, from, 8);
    return bits;
  }
}
inline void storeBytes(uint8_t *to, uint64_t bits, size_t bytes) {
  switch (bytes) {
  case 1:
    *to = static_cast<uint8_t>(bits);
    return;
  case 2:
    std::memcpy(to, &bits, 2);
    return;
  case 4:
    std::memcpy(to, &bits, 4);
    return;
  default:
    std::memcpy(to, &bits, 8);
  }
}

/// Bits of element `index`, zero-extended.
uint64_t loadBits(const Tensor &tensor, size_t index);
void storeBits(Tensor &tensor, size_t index, uint64_t bits);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_ORACLE_TENSOR_H
