// SPDX-License-Identifier: Apache-2.0
#include "Numerics.h"

namespace backplane::conformance {

void Declaration::set(std::string opClass, DType dtype, Numerics numerics) {
  all_[{std::move(opClass), dtype}] = numerics;
}

Numerics Declaration::of(std::string_view opClass, DType dtype) const {
  auto found = all_.find({std::string(opClass), dtype});
  if (found != all_.end())
    return found->second;
  Numerics least;
  if (isFloat(dtype) && bitWidth(dtype) <= 16)
    least.accumulatorBits = 24;
  return least;
}

} // namespace backplane::conformance
