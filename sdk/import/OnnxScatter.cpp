// SPDX-License-Identifier: Apache-2.0
//
// ScatterElements and ScatterND: scatter into flattened data, or into its rows.
#include "OnnxHandlers.h"
#include "OnnxIndex.h"

namespace backplane::frontend {

namespace {

/// The data with updates put into some of its rows.
void outScattered(Node &node, const Rows &rows, const Dims &updates) {
  std::string combine = node.string("reduction", "none");
  ValueId data = node.reshape(node.value(0), rows.dims);
  ValueId values = node.reshape(node.value(2), updates);
  ValueId flat = node.op("scatter", {data, rows.positions, values},
                         {{"axis", int64_t(0)}, {"combine", combine}});
  node.out(0, node.reshape(flat, Dims(node.inputType(0).dims)));
}

void requireUpdates(Node &node, const Dims &expected) {
  const TensorType &type = node.inputType(2);
  if (!node.ok())
    return;
  if (type.rank() != expected.size())
    return node.reject("its updates " + type.str() +
                       " do not fit its data and indices");
  for (size_t i = 0; i < expected.size(); ++i)
    node.require(type.dims[i], expected[i], "sizes of updates and indices");
}

} // namespace

void onnxScatterElements(Node &node) {
  const Dims dims = node.inputType(0).dims, wanted = node.inputType(1).dims;
  size_t axis = node.axis(node.i64("axis", 0), dims.size());
  requireUpdates(node, wanted);
  ValueId positions = elementPositions(node, dims, axis);
  if (!node.ok())
    return;
  Dims count{product(wanted)};
  outScattered(node, {node.reshape(positions, count), {product(dims)}}, count);
}

void onnxScatterNd(Node &node) {
  Rows rows = rowPositions(node, node.inputType(0).dims, 0);
  if (!node.ok())
    return;
  Dims outer = node.type(rows.positions).dims, updates{product(outer)};
  Dims expected = outer;
  expected.insert(expected.end(), rows.dims.begin() + 1, rows.dims.end());
  requireUpdates(node, expected);
  updates.insert(updates.end(), rows.dims.begin() + 1, rows.dims.end());
  rows.positions = node.reshape(rows.positions, {product(outer)});
  outScattered(node, rows, updates);
}

} // namespace backplane::frontend
