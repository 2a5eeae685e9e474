// SPDX-License-Identifier: Apache-2.0
//
// Gather, GatherElements, GatherND.
#include "OnnxHandlers.h"
#include "OnnxIndex.h"

namespace backplane::frontend {

namespace {

/// Known integers chosen by known indices.
std::optional<Known> gatherKnown(Node &node, size_t axis) {
  const Known *x = node.known(0), *indices = node.known(1);
  if (!x || !indices || !indices->constants())
    return std::nullopt;
  int64_t size = x->dims[axis];
  std::vector<int64_t> dims(x->dims.begin(), x->dims.begin() + axis);
  dims.insert(dims.end(), indices->dims.begin(), indices->dims.end());
  dims.insert(dims.end(), x->dims.begin() + axis + 1, x->dims.end());
  Result<int64_t> count = elementCount(dims);
  if (!count.ok() || *count > static_cast<int64_t>(kMaxKnown))
    return std::nullopt;
  size_t rank = indices->dims.size();
  std::vector<size_t> positions;
  Odometer at(dims);
  for (int64_t i = 0; i < *count; ++i, at.step()) {
    std::vector<int64_t> source(at.index());
    std::vector<int64_t> which(source.begin() + axis,
                               source.begin() + axis + rank);
    int64_t index =
        *indices->elements[positionOf(indices->dims, which)].value.constant();
    index += index < 0 ? size : 0;
    if (index < 0 || index >= size)
      return std::nullopt;
    source.erase(source.begin() + axis, source.begin() + axis + rank);
    source.insert(source.begin() + axis, index);
    positions.push_back(positionOf(x->dims, source));
  }
  return pick(*x, dims, positions);
}

} // namespace

void onnxGather(Node &node) {
  const Dims dims = node.inputType(0).dims;
  size_t axis = node.axis(node.i64("axis", 0), dims.size());
  if (!node.ok())
    return;
  if (auto result = gatherKnown(node, axis))
    return node.out(0, *result);
  ValueId indices = readIndices(node, 1, dims[axis]);
  node.out(0, node.op("gather", {node.value(0), indices},
                      {{"axis", static_cast<int64_t>(axis)}}));
}

/// result[i, j] = x[i, indices[i, j]] for axis 1: a gather from flattened x.
void onnxGatherElements(Node &node) {
  const Dims dims = node.inputType(0).dims;
  size_t axis = node.axis(node.i64("axis", 0), dims.size());
  ValueId positions = elementPositions(node, dims, axis);
  ValueId data = node.reshape(node.value(0), {product(dims)});
  node.out(0, node.op("gather", {data, positions}, {{"axis", int64_t(0)}}));
}

void onnxGatherNd(Node &node) {
  int64_t batch = node.i64("batch_dims", 0);
  if (batch < 0)
    return node.reject("batch_dims is " + std::to_string(batch));
  Rows rows =
      rowPositions(node, node.inputType(0).dims, static_cast<size_t>(batch));
  if (!node.ok())
    return;
  ValueId data = node.reshape(node.value(0), rows.dims);
  node.out(0,
           node.op("gather", {data, rows.positions}, {{"axis", int64_t(0)}}));
}

} // namespace backplane::frontend
