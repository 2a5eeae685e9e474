// SPDX-License-Identifier: Apache-2.0
//
// Shape rules of attention and what belongs to it.
#include "ShapeRules.h"

namespace backplane::rules {

Types rotary(const OpUse &use) {
  const TensorType &x = use.operands[0];
  if (x.rank() != 4 || mod(x.dims[3], 2) != Dim(0))
    return broken(use, 1, text(x.dims));
  Dims angles = {x.dims[0], x.dims[2], floorDiv(x.dims[3], 2)};
  for (size_t i : {1, 2})
    if (use.operands[i].dims != angles)
      return broken(use, 2,
                    text(use.operands[i].dims) + " for " + text(angles));
  return std::vector{x};
}

namespace {

Status checkMask(const OpUse &use, const Dims &scores) {
  const Dims &mask = use.operands[3].dims;
  bool fits = mask.size() == 4;
  for (size_t i = 0; fits && i < 4; ++i)
    fits = mask[i] == Dim(1) || mask[i] == scores[i];
  if (!fits)
    return broken(use, 4, text(mask) + " for " + text(scores));
  return {};
}

/// h is known to be a multiple of g, or is the same expression.
bool isMultiple(const Dim &h, const Dim &g) {
  if (h == g)
    return true;
  std::optional<int64_t> size = g.constant();
  return size && *size > 0 && mod(h, *size) == Dim(0);
}

} // namespace

Types attention(const OpUse &use) {
  const Dims &q = use.operands[0].dims, &k = use.operands[1].dims,
             &v = use.operands[2].dims;
  std::string all = text(q) + ", " + text(k) + " and " + text(v);
  if (q.size() != 4 || k.size() != 4 || v.size() != 4)
    return broken(use, 1, all);
  if (q[0] != k[0] || k[0] != v[0] || k[1] != v[1] || k[2] != v[2] ||
      q[3] != k[3])
    return broken(use, 2, all);
  if (!isMultiple(q[1], k[1]))
    return broken(use, 3, q[1].str() + " of " + k[1].str());
  if (use.operands.size() == 4)
    if (Status status = checkMask(use, {q[0], q[1], q[2], k[2]}); !status.ok())
      return status;
  if (dims(use, "causal").size() > 1)
    return broken(use, 5, text(dims(use, "causal")));
  return withDims(use, {q[0], q[1], q[2], v[3]});
}

} // namespace backplane::rules
