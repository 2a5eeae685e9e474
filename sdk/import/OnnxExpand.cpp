// SPDX-License-Identifier: Apache-2.0
//
// OnnxExpand.cpp: ops that repeat elements: Expand and Tile.
#include "OnnxHandlers.h"
#include "ShapeInput.h"

#include <algorithm>

namespace backplane::frontend {

namespace {

/// Known integers under broadcasting.
bool expandKnown(Node &node, const Dims &dims) {
  const Known *known = node.known(0);
  auto fixed = staticDims(dims);
  if (!node.ok() || !known || !fixed)
    return false;
  Result<int64_t> count = elementCount(*fixed);
  if (!count.ok() || *count > static_cast<int64_t>(kMaxKnown))
    return false;
  std::vector<size_t> positions;
  Odometer at(*fixed);
  for (int64_t i = 0; i < *count; ++i, at.step())
    positions.push_back(positionOf(known->dims, at.index()));
  if (auto result = pick(*known, *fixed, positions)) {
    node.out(0, *result);
    return true;
  }
  return false;
}

} // namespace

void onnxExpand(Node &node) {
  Dims dims = requireSizes(node, 1, "shape");
  if (!node.ok())
    return;
  // A size that data decide may be 1 in one call and more in the next.
  bool isRead = std::any_of(dims.begin(), dims.end(), [&](const Dim &dim) {
    return isReadSize(node, dim);
  });
  dims = node.commonDims(Dims(node.inputType(0).dims), dims, isRead);
  checkCount(node, dims);
  if (!node.ok() || expandKnown(node, dims))
    return;
  if (node.inputType(0).dims == dims)
    return node.outSame(0, 0);
  node.out(0, node.broadcast(node.value(0), dims));
}

/// [a, b] by [r, s] is a broadcast to [r, a, s, b], reshaped to [r*a, s*b].
void onnxTile(Node &node) {
  Dims repeats = requireSizes(node, 1, "repeats");
  const Dims own = node.inputType(0).dims;
  if (node.ok() && repeats.size() != own.size())
    node.reject("it has " + std::to_string(repeats.size()) +
                " repeats for the input " + node.inputType(0).str());
  if (!node.ok())
    return;
  Dims wide, dims;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < own.size(); ++i) {
    if (repeats[i] != Dim(1))
      wide.push_back(repeats[i]);
    axes.push_back(static_cast<int64_t>(wide.size()));
    wide.push_back(own[i]);
    dims.push_back(repeats[i] * own[i]);
  }
  checkCount(node, wide);
  checkCount(node, dims);
  if (wide.size() == own.size())
    return node.outSame(0, 0);
  ValueId tiled =
      node.op("broadcast", {node.value(0)}, {{"dims", wide}, {"axes", axes}});
  node.out(0, node.reshape(tiled, dims));
}

} // namespace backplane::frontend
