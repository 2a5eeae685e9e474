// SPDX-License-Identifier: Apache-2.0
//
// Tensor.h: a dense row-major tensor in host memory, byte for byte as a device
// gets and gives it (docs/reference/abi.md): i4 and u4 are packed, low nibble
// first; bool is a byte of 0 or 1.
#ifndef BACKPLANE_CONFORMANCE_ORACLE_TENSOR_H
#define BACKPLANE_CONFORMANCE_ORACLE_TENSOR_H

#include "sdk/graph/Graph.h"

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

/// Bits of element `index`, zero-extended.
uint64_t loadBits(const Tensor &tensor, size_t index);
void storeBits(Tensor &tensor, size_t index, uint64_t bits);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_ORACLE_TENSOR_H
