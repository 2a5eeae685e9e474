// SPDX-License-Identifier: Apache-2.0
//
// Decompositions of the contractions of small integers: differences from the
// zero points as i32, then the contraction of i32.
#include "DecomposeBuilder.h"

namespace backplane {

namespace {

/// value - zero as i32; a zero point of rank 1 goes along `axis`.
ValueId fromZero(DecomposeBuilder &m, ValueId value, ValueId zero,
                 int64_t axis) {
  ValueId wide = m.cast(value, DType::I32);
  TensorType type = m.copyOf(wide);
  std::vector<int64_t> axes;
  if (m.copyOf(zero).rank() == 1)
    axes.push_back(axis);
  ValueId repeated =
      m.broadcast(m.cast(zero, DType::I32), type.dims, std::move(axes));
  return m.add("sub", {wide, repeated});
}

int64_t lastAxis(DecomposeBuilder &m, ValueId value, int64_t fromEnd) {
  return static_cast<int64_t>(m.copyOf(value).rank()) - fromEnd;
}

} // namespace

ValueId composites::matmul_integer(DecomposeBuilder &m,
                                   const Operands &operands) {
  bool swapsA = m.op.i64("transpose_a") != 0;
  bool swapsB = m.op.i64("transpose_b") != 0;
  int64_t row = lastAxis(m, operands[0], swapsA ? 1 : 2);
  int64_t column = lastAxis(m, operands[1], swapsB ? 2 : 1);
  ValueId a = fromZero(m, operands[0], operands[2], row);
  ValueId b = fromZero(m, operands[1], operands[3], column);
  return m.add("matmul", {a, b}, m.op.attributes);
}

ValueId composites::conv_integer(DecomposeBuilder &m,
                                 const Operands &operands) {
  ValueId x = fromZero(m, operands[0], operands[2], 0);
  ValueId w = fromZero(m, operands[1], operands[3], 0);
  return m.add("conv", {x, w}, m.op.attributes);
}

} // namespace backplane
