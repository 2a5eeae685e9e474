// SPDX-License-Identifier: Apache-2.0
//
// Decompositions of the normalisations.
#include "DecomposeBuilder.h"

namespace backplane {

namespace {

Dim countAlong(const TensorType &type, const std::vector<int64_t> &axes) {
  Dim count(1);
  for (int64_t axis : axes)
    count = count * type.dims[static_cast<size_t>(axis)];
  return count;
}

/// The mean along some axes, which get the size 1: what follows is computed
/// once for each row, as in graphs that spell a norm out.
ValueId meanAlong(DecomposeBuilder &m, ValueId x,
                  const std::vector<int64_t> &axes) {
  Dim count = countAlong(m.copyOf(x), axes);
  ValueId sum = m.reduceTo1("sum", x, axes);
  return m.add("div", {sum, m.fillDim(count, m.copyOf(sum))});
}

/// x / sqrt(mean of x * x + epsilon) along some axes.
ValueId overDeviation(DecomposeBuilder &m, ValueId x,
                      const std::vector<int64_t> &axes) {
  ValueId square = meanAlong(m, m.add("mul", {x, x}), axes);
  ValueId sum = m.with("add", square, m.op.f64("epsilon"));
  ValueId root = m.add("sqrt", {sum});
  return m.add("div", {x, m.repeat(root, m.copyOf(x).dims)});
}

/// (x - mean) / sqrt(variance + epsilon) along some axes.
ValueId normalised(DecomposeBuilder &m, ValueId x,
                   const std::vector<int64_t> &axes) {
  ValueId mean = m.repeat(meanAlong(m, x, axes), m.copyOf(x).dims);
  return overDeviation(m, m.add("sub", {x, mean}), axes);
}

} // namespace

ValueId composites::layer_norm(DecomposeBuilder &m, const Operands &operands) {
  TensorType type = m.copyOf(operands[0]);
  auto first = static_cast<size_t>(m.op.i64("axis"));
  std::vector<int64_t> axes = DecomposeBuilder::axesFrom(first, type.rank());
  ValueId normal = normalised(m, operands[0], axes);
  ValueId scale = m.broadcast(operands[1], type.dims, axes);
  ValueId bias = m.broadcast(operands[2], type.dims, axes);
  return m.add("add", {m.add("mul", {normal, scale}), bias});
}

ValueId composites::rms_norm(DecomposeBuilder &m, const Operands &operands) {
  TensorType type = m.copyOf(operands[0]);
  auto first = static_cast<size_t>(m.op.i64("axis"));
  std::vector<int64_t> axes = DecomposeBuilder::axesFrom(first, type.rank());
  ValueId normal = overDeviation(m, operands[0], axes);
  return m.add("mul", {normal, m.broadcast(operands[1], type.dims, axes)});
}

ValueId composites::group_norm(DecomposeBuilder &m, const Operands &operands) {
  ValueId x = operands[0];
  const Dims dims = m.copyOf(x).dims;
  int64_t groups = m.op.i64("groups");
  bool isSplit = dims[1] != Dim(groups);
  if (isSplit) {
    Dims split = dims;
    split[1] = floorDiv(dims[1], groups);
    split.insert(split.begin() + 1, Dim(groups));
    x = m.reshape(x, split);
  }
  ValueId normal =
      normalised(m, x, DecomposeBuilder::axesFrom(2, m.copyOf(x).rank()));
  if (isSplit)
    normal = m.reshape(normal, dims);
  ValueId scale = m.broadcast(operands[1], dims, {1});
  ValueId bias = m.broadcast(operands[2], dims, {1});
  return m.add("add", {m.add("mul", {normal, scale}), bias});
}

/// Factor and offset per channel come first, from operands that are weights
/// most often, so that folding leaves one multiply and one add.
ValueId composites::batch_norm(DecomposeBuilder &m, const Operands &operands) {
  ValueId x = operands[0], scale = operands[1], bias = operands[2],
          mean = operands[3], variance = operands[4];
  ValueId deviation =
      m.add("sqrt", {m.with("add", variance, m.op.f64("epsilon"))});
  ValueId factor = m.add("div", {scale, deviation});
  ValueId offset = m.add("sub", {bias, m.add("mul", {mean, factor})});
  Dims dims = m.copyOf(x).dims;
  ValueId product = m.add("mul", {x, m.broadcast(factor, dims, {1})});
  return m.add("add", {product, m.broadcast(offset, dims, {1})});
}

} // namespace backplane
