// SPDX-License-Identifier: Apache-2.0
//
// Shape rules of layouts. Their constraints 1 to 3 are the same.
#include "Layout.h"
#include "ShapeRules.h"

#include <algorithm>

namespace backplane::rules {

namespace {

/// Whether values differ and lie in [0, limit).
bool areAxes(std::vector<int64_t> values, size_t limit) {
  std::sort(values.begin(), values.end());
  return ascend(values, limit);
}

Result<Layout> layoutOf(const OpUse &use, size_t rank) {
  const std::vector<int64_t> &axes = i64s(use, "axes"),
                             &tiles = i64s(use, "tiles"),
                             &order = i64s(use, "order");
  std::string of = " for rank " + std::to_string(rank);
  if (!areAxes(axes, rank))
    return broken(use, 1, text(axes) + of);
  if (tiles.size() != axes.size() ||
      std::ranges::any_of(tiles, [](int64_t tile) { return tile < 1; }))
    return broken(use, 2, text(tiles) + " for axes " + text(axes));
  if (!order.empty() && (order.size() != rank || !areAxes(order, rank)))
    return broken(use, 3, text(order) + of);
  return Layout(rank, axes, tiles, order);
}

} // namespace

Types pack(const OpUse &use) {
  const Dims &plain = use.operands[0].dims;
  Result<Layout> layout = layoutOf(use, plain.size());
  if (!layout)
    return layout.status();
  if (use.operands.size() > 1 && use.operands[1].rank() != 0)
    return broken(use, 4, text(use.operands[1].dims));
  return withDims(use, layout->packed(plain));
}

Types unpack(const OpUse &use) {
  const Dims &plain = dims(use, "sizes"), &found = use.operands[0].dims;
  Result<Layout> layout = layoutOf(use, plain.size());
  if (!layout)
    return layout.status();
  if (Dims packed = layout->packed(plain); packed != found)
    return broken(use, 4,
                  text(found) + " for " + text(packed) + " of " + text(plain));
  return withDims(use, plain);
}

} // namespace backplane::rules
