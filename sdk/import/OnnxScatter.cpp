// SPDX-License-Identifier: Apache-2.0
//
// ScatterElements, ScatterND and TensorScatter: scatter into flattened data, or
// into its rows.
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

namespace {

/// Where each element of the updates goes along the axis.
ValueId writeIndices(Node &node, const Dims &updates, size_t axis,
                     const Dim &size, bool isCircular) {
  ValueId at = node.counter(updates, axis);
  if (node.has(2)) {
    ValueId first = node.cast(node.value(2), DType::I64);
    at = node.op("add", {at, node.along(first, 0, updates)});
  }
  return isCircular
             ? node.op("rem", {at, node.fillDim(DType::I64, size, updates)})
             : at;
}

} // namespace

void onnxTensorScatter(Node &node) {
  const Dims dims = node.inputType(0).dims, updates = node.inputType(1).dims;
  std::string mode = node.string("mode", "linear");
  if (mode != "linear" && mode != "circular")
    node.reject("mode '" + mode + "' is neither linear nor circular");
  size_t axis = node.axis(node.i64("axis", -2), dims.size());
  if (updates.size() != dims.size() || axis == 0)
    node.reject("its update must have the rank of the cache, and its axis "
                "not be the first one");
  for (size_t i = 0; node.ok() && i < dims.size(); ++i)
    if (i != axis)
      node.require(updates[i], dims[i], "sizes of update and cache");
  if (node.ok() && node.has(2) && node.inputType(2).rank() == 1)
    node.require(node.inputType(2).dims[0], dims[0], "number of write indices");
  else if (node.ok() && node.has(2))
    node.reject("it needs one write index for each batch");
  if (!node.ok())
    return;
  ValueId index =
      writeIndices(node, updates, axis, dims[axis], mode == "circular");
  Dims count{product(updates)};
  ValueId positions =
      node.reshape(elementPositions(node, index, dims, axis), count);
  ValueId flat =
      node.op("scatter",
              {node.reshape(node.value(0), {product(dims)}), positions,
               node.reshape(node.value(1), count)},
              {{"axis", int64_t(0)}, {"combine", std::string("none")}});
  node.out(0, node.reshape(flat, dims));
}

} // namespace backplane::frontend
