// SPDX-License-Identifier: Apache-2.0
//
// Layout.h: what the attributes of pack and unpack say.
#ifndef BACKPLANE_GRAPH_LAYOUT_H
#define BACKPLANE_GRAPH_LAYOUT_H

#include "Graph.h"

namespace backplane {

/// A blocked layout of a tensor of rank tiles.size().
struct Layout {
  /// Of valid attributes: axes that differ, lie below the rank and have a tile
  /// each; an order that is empty or a permutation.
  Layout(size_t rank, const std::vector<int64_t> &axes,
         const std::vector<int64_t> &tiles, const std::vector<int64_t> &order);

  std::vector<int64_t> tiles; ///< of each plain axis, 1: not tiled
  std::vector<size_t> inner;  ///< the plain axis of each inner axis
  std::vector<size_t> outer;  ///< the plain axis of each outer axis

  /// Number of tiles along a plain axis.
  Dim count(const Dims &plain, size_t axis) const;
  /// Dims of the packed tensor.
  Dims packed(const Dims &plain) const;
  /// Dims with each tiled axis as two, count and tile: what is transposed.
  Dims split(const Dims &plain) const;
  /// Axis i of the packed tensor is axis split()[permutation()[i]].
  std::vector<int64_t> permutation() const;
  /// Plain dims, rounded up to whole tiles.
  Dims whole(const Dims &plain) const;

private:
  std::vector<bool> isTiled_;
};

} // namespace backplane

#endif // BACKPLANE_GRAPH_LAYOUT_H
