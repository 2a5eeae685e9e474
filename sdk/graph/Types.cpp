// SPDX-License-Identifier: Apache-2.0
#include "Graph.h"
#include "sdk/support/Joined.h"

#include <algorithm>

namespace backplane {

Dim byteSize(DType type, const Dim &elements) {
  unsigned bits = bitWidth(type);
  if (bits % 8 == 0)
    return elements * Dim(bits / 8);
  return ceilDiv(elements * Dim(bits), 8);
}

bool TensorType::isStatic() const {
  return std::all_of(dims.begin(), dims.end(),
                     [](const Dim &dim) { return dim.constant().has_value(); });
}

std::string TensorType::str() const {
  return std::string(name(dtype)) + "[" + joined(dims, ", ", &Dim::str) + "]";
}

} // namespace backplane
