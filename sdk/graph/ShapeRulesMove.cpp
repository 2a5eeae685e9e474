// SPDX-License-Identifier: Apache-2.0
//
// Shape rules of ops that move elements.
#include "ShapeRules.h"

#include <algorithm>

namespace backplane::rules {

Types broadcast(const OpUse &use) {
  const TensorType &x = use.operands[0];
  const Dims &sizes = dims(use, "dims");
  const std::vector<int64_t> &axes = i64s(use, "axes");
  if (axes.size() != x.rank() || !ascend(axes, sizes.size()))
    return broken(use, 1,
                  text(axes) + " from " + text(x.dims) + " to " + text(sizes));
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim &to = sizes[static_cast<size_t>(axes[i])];
    if (x.dims[i] != Dim(1) && x.dims[i] != to)
      return broken(use, 2, x.dims[i].str() + " for " + to.str());
  }
  return withDims(use, sizes);
}

Types reshape(const OpUse &use) {
  const Dims &from = use.operands[0].dims, &to = dims(use, "dims");
  // Symbolic counts that differ by a number are never equal either.
  Dim difference = product(from) - product(to);
  if (difference.constant().value_or(0) != 0)
    return broken(use, 1, text(from) + " to " + text(to));
  if (!difference.valid())
    return invalidArgument("reshape: the element count of " + text(from) +
                           " or " + text(to) + " overflows or is too complex");
  return withDims(use, to);
}

Types transpose(const OpUse &use) {
  const Dims &from = use.operands[0].dims;
  const std::vector<int64_t> &permutation = i64s(use, "permutation");
  std::vector<int64_t> sorted = permutation;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() != from.size() || !ascend(sorted, from.size()))
    return broken(use, 1, text(permutation) + " for " + text(from));
  Dims to;
  for (int64_t axis : permutation)
    to.push_back(from[static_cast<size_t>(axis)]);
  return withDims(use, std::move(to));
}

namespace {

/// Whether plain numbers show that a slice leaves [0, size).
bool leaves(const Dim &size, const Dim &start, const Dim &count,
            int64_t stride) {
  if (start.constant().value_or(0) < 0)
    return true;
  Dim end = count == Dim(0) ? start : start + (count - 1) * Dim(stride) + 1;
  return (size - end).constant().value_or(0) < 0;
}

} // namespace

Types slice(const OpUse &use) {
  const Dims &from = use.operands[0].dims, &starts = dims(use, "starts"),
             &sizes = dims(use, "sizes");
  const std::vector<int64_t> &strides = i64s(use, "strides");
  size_t rank = from.size();
  if (starts.size() != rank || sizes.size() != rank || strides.size() != rank)
    return broken(use, 1,
                  text(starts) + ", " + text(sizes) + " and " + text(strides) +
                      " for " + text(from));
  for (size_t i = 0; i < rank; ++i) {
    if (strides[i] < 1)
      return broken(use, 2, text(strides));
    if (leaves(from[i], starts[i], sizes[i], strides[i]))
      return broken(use, 3,
                    "start " + starts[i].str() + ", size " + sizes[i].str() +
                        ", stride " + std::to_string(strides[i]) +
                        " for size " + from[i].str());
  }
  return withDims(use, sizes);
}

Types concat(const OpUse &use) {
  Dims joined = use.operands[0].dims;
  Result<size_t> along = axis(use, joined.size(), 2);
  if (!along)
    return along.status();
  for (const TensorType &operand : use.operands.subspan(1)) {
    Dims others = operand.dims;
    if (others.size() == joined.size())
      others[*along] = joined[*along];
    if (others != joined)
      return broken(use, 1,
                    text(use.operands[0].dims) + " and " + text(operand.dims));
    joined[*along] = joined[*along] + operand.dims[*along];
  }
  return withDims(use, std::move(joined));
}

namespace {

/// Whether plain numbers show that a mode has nothing to take elements from.
bool lacksElements(std::string_view mode, const Dim &size, const Dim &low,
                   const Dim &high) {
  if (mode == "constant" || (low == Dim(0) && high == Dim(0)))
    return false;
  if (mode == "edge")
    return size == Dim(0);
  return (size - 1 - max(low, high)).constant().value_or(0) < 0;
}

} // namespace

Types pad(const OpUse &use) {
  const Dims &from = use.operands[0].dims, &low = dims(use, "low"),
             &high = dims(use, "high");
  if (use.operands[1].rank() != 0)
    return broken(use, 1, text(use.operands[1].dims));
  if (low.size() != from.size() || high.size() != from.size())
    return broken(use, 2,
                  text(low) + " and " + text(high) + " for " + text(from));
  Dims to;
  for (size_t i = 0; i < from.size(); ++i) {
    if (low[i].constant().value_or(0) < 0 || high[i].constant().value_or(0) < 0)
      return broken(use, 2, text(low) + " and " + text(high));
    if (lacksElements(string(use, "mode"), from[i], low[i], high[i]))
      return broken(use, 3,
                    low[i].str() + " and " + high[i].str() + " for size " +
                        from[i].str());
    to.push_back(from[i] + low[i] + high[i]);
  }
  return withDims(use, std::move(to));
}

Types reverse(const OpUse &use) {
  const TensorType &x = use.operands[0];
  const std::vector<int64_t> &axes = i64s(use, "axes");
  if (!ascend(axes, x.rank()))
    return broken(use, 1, text(axes) + " for " + text(x.dims));
  return std::vector{x};
}

Types gather(const OpUse &use) {
  const TensorType &x = use.operands[0], &indices = use.operands[1];
  if (indices.dtype != DType::I64 && indices.dtype != DType::I32)
    return broken(use, 1, std::string(name(indices.dtype)));
  Result<size_t> along = axis(use, x.rank(), 3);
  if (!along)
    return along.status();
  auto at = x.dims.begin() + static_cast<ptrdiff_t>(*along);
  Dims to(x.dims.begin(), at);
  to.insert(to.end(), indices.dims.begin(), indices.dims.end());
  to.insert(to.end(), at + 1, x.dims.end());
  return withDims(use, std::move(to));
}

Types scatter(const OpUse &use) {
  const TensorType &x = use.operands[0], &updates = use.operands[2];
  // What gather with the same indices takes out has the dims of the updates.
  Types taken = gather(use);
  if (!taken)
    return taken;
  if (updates.dims != (*taken)[0].dims)
    return broken(use, 2,
                  text(updates.dims) + " for " + text((*taken)[0].dims));
  const std::string &combine = string(use, "combine");
  if (combine != "none" && !contains(TypeSet::Number, x.dtype))
    return broken(use, 4, combine + " of " + std::string(name(x.dtype)));
  return std::vector{x};
}

} // namespace backplane::rules
