// SPDX-License-Identifier: Apache-2.0
#include "Strided.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace backplane::rt {
namespace {

/// Calls `visit(strided, packed, bytes)` for each run of elements that follow
/// each other in both forms, with the byte offsets of its first element.
template <typename Visit> void eachRun(const Strided &tensor, Visit visit) {
  size_t outer = tensor.strides.size();
  int64_t run = 1;
  while (outer > 0 && tensor.strides[outer - 1] == run)
    run *= tensor.dims[--outer];
  uint64_t runBytes = uint64_t(run) * tensor.elementBytes;
  if (outer == 0)
    return visit(0, 0, runBytes);
  int64_t element = int64_t(tensor.elementBytes), strided = 0;
  std::vector<int64_t> index(outer, 0);
  for (uint64_t packed = 0;; packed += runBytes) {
    visit(strided, packed, runBytes);
    size_t axis = outer;
    while (axis-- > 0) {
      strided += tensor.strides[axis] * element;
      if (++index[axis] < tensor.dims[axis])
        break;
      strided -= index[axis] * tensor.strides[axis] * element;
      index[axis] = 0;
      if (axis == 0)
        return;
    }
  }
}

bool isEmpty(const Strided &tensor) {
  return std::ranges::find(tensor.dims, 0) != tensor.dims.end();
}

} // namespace

bool Strided::dense() const {
  if (strides.empty() || isEmpty(*this))
    return true;
  int64_t expected = 1;
  for (size_t axis = dims.size(); axis-- > 0;) {
    if (dims[axis] != 1 && strides[axis] != expected)
      return false;
    expected *= dims[axis];
  }
  return true;
}

Result<Extent> Strided::extent() const {
  Extent extent;
  if (isEmpty(*this))
    return extent;
  bool overflow = __builtin_add_overflow(0, elementBytes, &extent.high);
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    int64_t reach = 0;
    overflow |= __builtin_mul_overflow(strides[axis], dims[axis] - 1, &reach);
    overflow |= __builtin_mul_overflow(reach, int64_t(elementBytes), &reach);
    int64_t &end = reach < 0 ? extent.low : extent.high;
    overflow |= __builtin_add_overflow(end, reach, &end);
  }
  int64_t bytes = 0;
  if (overflow || __builtin_sub_overflow(extent.high, extent.low, &bytes))
    return invalidArgument("its strides reach beyond 64 bits");
  return extent;
}

void Strided::pack(const uint8_t *from, uint8_t *to) const {
  if (!isEmpty(*this))
    eachRun(*this, [&](int64_t strided, uint64_t packed, uint64_t bytes) {
      std::memcpy(to + packed, from + strided, bytes);
    });
}

void Strided::unpack(const uint8_t *from, uint8_t *to) const {
  if (!isEmpty(*this))
    eachRun(*this, [&](int64_t strided, uint64_t packed, uint64_t bytes) {
      std::memcpy(to + strided, from + packed, bytes);
    });
}

} // namespace backplane::rt
