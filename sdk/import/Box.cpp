// SPDX-License-Identifier: Apache-2.0
#include "Box.h"

#include <algorithm>

namespace backplane::frontend {

Box wholeBox(const Dims &dims) {
  return Box{Dims(dims.size(), Dim(0)),
             dims,
             std::vector<int64_t>(dims.size(), 1),
             {}};
}

/// The box of known integers.
static std::optional<Known> knownBox(const Known &known, const Box &box) {
  auto starts = staticDims(box.starts), sizes = staticDims(box.sizes);
  if (!starts || !sizes)
    return std::nullopt;
  size_t count = 1;
  for (int64_t size : *sizes)
    count *= static_cast<size_t>(size);
  std::vector<size_t> positions;
  Odometer at(*sizes);
  std::vector<int64_t> source(sizes->size());
  for (size_t i = 0; i < count; ++i, at.step()) {
    for (size_t axis = 0; axis < source.size(); ++axis) {
      int64_t index = at.index()[axis];
      if (std::find(box.reversed.begin(), box.reversed.end(),
                    static_cast<int64_t>(axis)) != box.reversed.end())
        index = (*sizes)[axis] - 1 - index;
      source[axis] = (*starts)[axis] + index * box.strides[axis];
    }
    positions.push_back(positionOf(known.dims, source));
  }
  return pick(known, *sizes, positions);
}

static bool isWhole(const Box &box, const Dims &dims) {
  return box.sizes == dims && box.reversed.empty() &&
         box.strides == wholeBox(dims).strides;
}

ValueId boxOf(Node &node, const Box &box) {
  ValueId value = node.value(0);
  const Dims own = node.inputType(0).dims;
  if (box.sizes != own || box.strides != wholeBox(own).strides)
    value = node.op("slice", {value},
                    {{"starts", box.starts},
                     {"sizes", box.sizes},
                     {"strides", box.strides}});
  return box.reversed.empty()
             ? value
             : node.op("reverse", {value}, {{"axes", box.reversed}});
}

void outBox(Node &node, size_t output, const Box &box) {
  if (!node.ok())
    return;
  if (const Known *known = node.known(0))
    if (auto result = knownBox(*known, box))
      return node.out(output, *result);
  if (isWhole(box, node.inputType(0).dims))
    return node.outSame(output, 0);
  node.out(output, boxOf(node, box));
}

} // namespace backplane::frontend
