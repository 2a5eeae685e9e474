// SPDX-License-Identifier: Apache-2.0
//
// LargeCompare.h: compares millions of elements with few answers. Elements that
// plainly lie within their limits are passed by two comparisons; all others go
// through compare (Compare.h), whose rules alone decide.
#ifndef BACKPLANE_CONFORMANCE_CASES_LARGECOMPARE_H
#define BACKPLANE_CONFORMANCE_CASES_LARGECOMPARE_H

#include "conformance/compare/Compare.h"

namespace backplane::conformance {

/// Offsets along each axis; the offset of an element is the sum of those of its
/// indices.
using AxisMaps = std::vector<std::vector<size_t>>;

/// Calls visit(base, offsets along the last axis) for each line, in row-major
/// order.
template <typename V> void forEachLine(const AxisMaps &maps, V visit) {
  static const std::vector<size_t> scalar = {0};
  if (maps.empty())
    return visit(0, scalar);
  size_t outer = maps.size() - 1;
  for (const auto &map : maps)
    if (map.empty())
      return;
  std::vector<size_t> index(outer, 0);
  for (;;) {
    size_t base = 0;
    for (size_t axis = 0; axis < outer; ++axis)
      base += maps[axis][index[axis]];
    visit(base, maps[outer]);
    size_t axis = outer;
    while (axis > 0 && ++index[axis - 1] == maps[axis - 1].size())
      index[--axis] = 0;
    if (axis == 0)
      return;
  }
}

/// `got` has the dims of the maps; the answer of an element is the one at its
/// offset in `answers`. Statistics are those of the leading corner, in which
/// every answer occurs once.
Verdict compareRepeated(const Expected &answers,
                        const std::vector<int64_t> &dims, const AxisMaps &maps,
                        const Tensor &got, const Numerics &numerics);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_LARGECOMPARE_H
