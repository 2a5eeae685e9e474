// SPDX-License-Identifier: Apache-2.0
//
// Decompositions of layouts: blocks are a reshape and a transpose, between a
// pad and a slice where the last block is not full.
#include "DecomposeBuilder.h"
#include "Layout.h"

namespace backplane {

namespace {

Layout layoutOf(const Op &op, size_t rank) {
  return {rank, op.i64s("axes"), op.i64s("tiles"), op.i64s("order")};
}

/// A scalar whose bits are 0.
ValueId zeroBits(DecomposeBuilder &m, DType dtype) {
  return m.add("constant", {},
               {{"value", Bytes((bitWidth(dtype) + 7) / 8)},
                {"dtype", int64_t(dtype)},
                {"dims", Dims()}});
}

std::vector<int64_t> inverse(const std::vector<int64_t> &permutation) {
  std::vector<int64_t> result(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i)
    result[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
  return result;
}

} // namespace

ValueId composites::pack(DecomposeBuilder &m, const Operands &operands) {
  ValueId x = operands[0];
  TensorType type = m.copyOf(x);
  Layout layout = layoutOf(m.op, type.rank());
  Dims high, whole = layout.whole(type.dims);
  for (size_t axis = 0; axis < type.rank(); ++axis)
    high.push_back(whole[axis] - type.dims[axis]);
  if (whole != type.dims) {
    ValueId value = operands.size() > 1 ? operands[1] : zeroBits(m, type.dtype);
    x = m.add("pad", {x, value},
              {{"low", Dims(type.rank(), Dim(0))}, {"high", high}});
  }
  return m.add("transpose", {m.reshape(x, layout.split(type.dims))},
               {{"permutation", layout.permutation()}});
}

ValueId composites::unpack(DecomposeBuilder &m, ValueId x) {
  Dims sizes = m.op.dims("sizes");
  Layout layout = layoutOf(m.op, sizes.size());
  Dims whole = layout.whole(sizes);
  ValueId split =
      m.add("transpose", {x}, {{"permutation", inverse(layout.permutation())}});
  ValueId all = m.reshape(split, whole);
  if (whole == sizes)
    return all;
  return m.add("slice", {all},
               {{"starts", Dims(sizes.size(), Dim(0))},
                {"sizes", sizes},
                {"strides", std::vector<int64_t>(sizes.size(), 1)}});
}

} // namespace backplane
