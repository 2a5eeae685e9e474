// SPDX-License-Identifier: Apache-2.0
#include "Layout.h"

namespace backplane {

Layout::Layout(size_t rank, const std::vector<int64_t> &axes,
               const std::vector<int64_t> &sizes,
               const std::vector<int64_t> &order)
    : tiles(rank, 1), isTiled_(rank) {
  for (size_t i = 0; i < axes.size(); ++i) {
    auto axis = static_cast<size_t>(axes[i]);
    tiles[axis] = sizes[i];
    isTiled_[axis] = true;
    inner.push_back(axis);
  }
  for (size_t k = 0; k < rank; ++k)
    outer.push_back(order.empty() ? k : static_cast<size_t>(order[k]));
}

Dim Layout::count(const Dims &plain, size_t axis) const {
  return tiles[axis] == 1 ? plain[axis] : ceilDiv(plain[axis], tiles[axis]);
}

Dims Layout::packed(const Dims &plain) const {
  Dims dims;
  for (size_t axis : outer)
    dims.push_back(count(plain, axis));
  for (size_t axis : inner)
    dims.emplace_back(tiles[axis]);
  return dims;
}

Dims Layout::split(const Dims &plain) const {
  Dims dims;
  for (size_t axis = 0; axis < plain.size(); ++axis) {
    dims.push_back(count(plain, axis));
    if (isTiled_[axis])
      dims.emplace_back(tiles[axis]);
  }
  return dims;
}

std::vector<int64_t> Layout::permutation() const {
  std::vector<int64_t> first;
  int64_t next = 0;
  for (bool isTiled : isTiled_) {
    first.push_back(next);
    next += isTiled ? 2 : 1;
  }
  std::vector<int64_t> result;
  for (size_t axis : outer)
    result.push_back(first[axis]);
  for (size_t axis : inner)
    result.push_back(first[axis] + 1);
  return result;
}

Dims Layout::whole(const Dims &plain) const {
  Dims dims;
  for (size_t axis = 0; axis < plain.size(); ++axis)
    dims.push_back(count(plain, axis) * Dim(tiles[axis]));
  return dims;
}

} // namespace backplane
