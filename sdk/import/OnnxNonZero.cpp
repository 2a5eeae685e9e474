// SPDX-License-Identifier: Apache-2.0
//
// NonZero and Compress: how many elements they take, only data decide. Their
// number becomes a symbol of the graph, and what follows has its size.
#include "OnnxHandlers.h"
#include "Taken.h"

namespace backplane::frontend {

void onnxNonZero(Node &node) {
  ValueId x = node.value(0);
  if (!node.ok())
    return;
  const TensorType type = node.type(x);
  Dim count = type.elementCount();
  ValueId mask = type.dtype == DType::Bool
                     ? x
                     : node.compare("ne", x, node.fillLike(x, 0));
  ValueId flat = takenPositions(node, node.reshape(mask, {count}), count);
  if (!node.ok())
    return;
  Dim taken = node.type(flat).dims[0];
  if (type.rank() == 0)
    return node.out(0, node.fillInteger(DType::I64, 0, {0, taken}));
  std::vector<ValueId> rows;
  Dim stride = 1;
  for (size_t axis = type.rank(); axis-- > 0;
       stride = stride * type.dims[axis]) {
    ValueId index = flat;
    if (stride != Dim(1))
      index =
          node.op("div", {index, node.fillDim(DType::I64, stride, {taken})});
    if (axis > 0)
      index = node.op(
          "rem", {index, node.fillDim(DType::I64, type.dims[axis], {taken})});
    rows.insert(rows.begin(), node.reshape(index, {1, taken}));
  }
  node.out(0, node.op("concat", rows, {{"axis", int64_t(0)}}));
}

/// The slices of an axis, or of all elements in order, whose condition holds. A
/// condition that is shorter than the axis leaves out the rest.
void onnxCompress(Node &node) {
  ValueId x = node.value(0), condition = node.value(1);
  if (!node.ok())
    return;
  if (!node.hasAttribute("axis"))
    x = node.reshape(x, {node.type(x).elementCount()});
  size_t axis = node.axis(node.i64("axis", 0), node.type(x).rank());
  if (!node.ok())
    return;
  if (node.type(condition).rank() != 1 ||
      node.type(condition).dtype != DType::Bool)
    return node.reject("its condition is a vector of bools");
  ValueId taken = takenPositions(node, condition, node.type(condition).dims[0]);
  node.out(0, node.op("gather", {x, taken}, {{"axis", int64_t(axis)}}));
}

} // namespace backplane::frontend
