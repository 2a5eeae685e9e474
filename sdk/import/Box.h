// SPDX-License-Identifier: Apache-2.0
//
// Box.h: parts of a node's first input.
#ifndef BACKPLANE_IMPORT_BOX_H
#define BACKPLANE_IMPORT_BOX_H

#include "Node.h"

namespace backplane::frontend {

/// A box of a tensor: the elements start, start + stride, … of each axis; the
/// reversed axes are then turned around.
struct Box {
  Dims starts, sizes;
  std::vector<int64_t> strides;
  std::vector<int64_t> reversed;
};

/// All of a tensor of these dims.
Box wholeBox(const Dims &dims);

/// The box as a value.
ValueId boxOf(Node &node, const Box &box);

/// Defines an output as the box; known integers stay known.
void outBox(Node &node, size_t output, const Box &box);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_BOX_H
