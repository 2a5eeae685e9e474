// SPDX-License-Identifier: Apache-2.0
//
// Shape rules of reductions, contractions and windows.
#include "Rounding.h"
#include "ShapeRules.h"

#include <algorithm>

namespace backplane::rules {

// ---- reductions ----

namespace {

/// `from` without the marked axes, or with size 1 there.
Dims reduced(const Dims &from, const std::vector<int64_t> &axes, bool keep) {
  Dims to;
  for (size_t i = 0; i < from.size(); ++i) {
    bool isReduced =
        std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(i));
    if (!isReduced)
      to.push_back(from[i]);
    else if (keep)
      to.push_back(Dim(1));
  }
  return to;
}

} // namespace

Types reduce(const OpUse &use) {
  const TensorType &x = use.operands[0];
  const std::vector<int64_t> &axes = i64s(use, "axes");
  if (!ascend(axes, x.rank()))
    return broken(use, 1, text(axes) + " for " + text(x.dims));
  const std::string &kind = string(use, "kind");
  bool isLogical = kind == "and" || kind == "or";
  if (!contains(isLogical ? TypeSet::Bool : TypeSet::Number, x.dtype))
    return broken(use, 2, kind + " of " + std::string(name(x.dtype)));
  return withDims(use, reduced(x.dims, axes, i64(use, "keep") != 0));
}

Types reduce_float(const OpUse &use) {
  const TensorType &x = use.operands[0];
  const std::vector<int64_t> &axes = i64s(use, "axes");
  if (!ascend(axes, x.rank()))
    return broken(use, 1, text(axes) + " for " + text(x.dims));
  return withDims(use, reduced(x.dims, axes, i64(use, "keep") != 0));
}

Types arg_reduce(const OpUse &use) {
  const TensorType &x = use.operands[0];
  Result<size_t> along = axis(use, x.rank(), 1);
  if (!along)
    return along.status();
  Dims to = reduced(x.dims, {i64(use, "axis")}, i64(use, "keep") != 0);
  return std::vector{TensorType{DType::I64, std::move(to)}};
}

Types top_k(const OpUse &use) {
  const TensorType &x = use.operands[0];
  Result<size_t> along = axis(use, x.rank(), 1);
  if (!along)
    return along.status();
  const Dims &k = dims(use, "k");
  if (k.size() != 1)
    return broken(use, 2, text(k));
  if ((x.dims[*along] - k[0]).constant().value_or(0) < 0)
    return broken(use, 3, k[0].str() + " of " + x.dims[*along].str());
  Dims to = x.dims;
  to[*along] = k[0];
  return std::vector{TensorType{x.dtype, to}, TensorType{DType::I64, to}};
}

// ---- matmul ----

namespace {

/// The sums of a contraction: of the dtype of its operands or, where it is
/// wide, which those of small integers cannot be, f32. `constraint` says what a
/// wide one needs.
Types sums(const OpUse &use, Dims to, size_t constraint) {
  DType dtype = use.operands[0].dtype;
  if (!use.attributes.contains("wide") || !i64(use, "wide"))
    return withDims(use, std::move(to));
  if (!isNarrowFloat(dtype))
    return broken(use, constraint, std::string(name(dtype)));
  return std::vector{TensorType{DType::F32, std::move(to)}};
}

} // namespace

Types matmul(const OpUse &use) {
  const Dims &a = use.operands[0].dims, &b = use.operands[1].dims;
  std::string both = text(a) + " and " + text(b);
  if (a.size() < 2 || b.size() < 2)
    return broken(use, 1, both);
  if (a.size() != b.size() && b.size() != 2)
    return broken(use, 2, both);
  size_t batch = a.size() - 2;
  if (b.size() == a.size() &&
      !std::equal(a.begin(), a.begin() + static_cast<ptrdiff_t>(batch),
                  b.begin()))
    return broken(use, 3, both);
  Dim m = a[batch], ka = a[batch + 1];
  Dim kb = b[b.size() - 2], n = b[b.size() - 1];
  if (i64(use, "transpose_a"))
    std::swap(m, ka);
  if (i64(use, "transpose_b"))
    std::swap(kb, n);
  if (ka != kb)
    return broken(use, 4, ka.str() + " and " + kb.str());
  Dims to(a.begin(), a.begin() + static_cast<ptrdiff_t>(batch));
  to.push_back(m);
  to.push_back(n);
  return sums(use, std::move(to), 5);
}

// ---- windows ----

namespace {

using Names = std::initializer_list<std::string_view>;

/// Each list has one entry per spatial axis, none below `minimum`.
Status checkLists(const OpUse &use, Names names, size_t spatial,
                  int64_t minimum, size_t countConstraint,
                  size_t valueConstraint) {
  for (std::string_view name : names) {
    const std::vector<int64_t> &values = i64s(use, name);
    std::string found = std::string(name) + " " + text(values);
    if (values.size() != spatial)
      return broken(use, countConstraint, found);
    if (std::any_of(values.begin(), values.end(),
                    [&](int64_t value) { return value < minimum; }))
      return broken(use, valueConstraint, found);
  }
  return {};
}

/// How far a window of `size` elements reaches.
Dim reach(const Dim &size, int64_t dilation) {
  return (size - 1) * Dim(dilation) + 1;
}

/// Number of positions of a window in a padded axis.
Dim positions(const OpUse &use, const Dim &size, const Dim &window, size_t i) {
  Dim padded = size + Dim(i64s(use, "low")[i]) + Dim(i64s(use, "high")[i]);
  Dim room = padded - reach(window, i64s(use, "dilations")[i]);
  return floorDiv(room, i64s(use, "strides")[i]) + 1;
}

/// Ranks, lists and groups of a convolution.
Status checkConvolution(const OpUse &use, Names pads) {
  const Dims &x = use.operands[0].dims, &w = use.operands[1].dims;
  if (x.size() < 3 || x.size() != w.size())
    return broken(use, 1, text(x) + " and " + text(w));
  size_t spatial = x.size() - 2;
  Status lists = checkLists(use, {"strides", "dilations"}, spatial, 1, 2, 4);
  if (lists.ok())
    lists = checkLists(use, pads, spatial, 0, 2, 4);
  int64_t groups = i64(use, "groups");
  if (lists.ok() && groups < 1)
    return broken(use, 4, "groups " + std::to_string(groups));
  return lists;
}

/// Channels that do not fit the groups.
Status wrongGroups(const OpUse &use) {
  return broken(use, 3,
                "x " + text(use.operands[0].dims) + ", w " +
                    text(use.operands[1].dims) + ", groups " +
                    std::to_string(i64(use, "groups")));
}

} // namespace

Types conv(const OpUse &use) {
  if (Status s = checkConvolution(use, {"low", "high"}); !s.ok())
    return s;
  const Dims &x = use.operands[0].dims, &w = use.operands[1].dims;
  int64_t groups = i64(use, "groups");
  if (x[1] != w[1] * Dim(groups) || mod(w[0], groups) != Dim(0))
    return wrongGroups(use);
  Dims to = {x[0], w[0]};
  for (size_t i = 0; i + 2 < x.size(); ++i)
    to.push_back(positions(use, x[i + 2], w[i + 2], i));
  return sums(use, std::move(to), 5);
}

Types conv_transpose(const OpUse &use) {
  if (Status s = checkConvolution(use, {"low", "high", "output_padding"});
      !s.ok())
    return s;
  const Dims &x = use.operands[0].dims, &w = use.operands[1].dims;
  int64_t groups = i64(use, "groups");
  if (x[1] != w[0] || mod(x[1], groups) != Dim(0))
    return wrongGroups(use);
  Dims to = {x[0], w[1] * Dim(groups)};
  for (size_t i = 0; i + 2 < x.size(); ++i)
    to.push_back((x[i + 2] - 1) * Dim(i64s(use, "strides")[i]) +
                 reach(w[i + 2], i64s(use, "dilations")[i]) -
                 Dim(i64s(use, "low")[i]) - Dim(i64s(use, "high")[i]) +
                 Dim(i64s(use, "output_padding")[i]));
  return sums(use, std::move(to), 5);
}

Types pool(const OpUse &use) {
  const Dims &x = use.operands[0].dims;
  if (x.size() < 3)
    return broken(use, 1, text(x));
  size_t spatial = x.size() - 2;
  Status lists =
      checkLists(use, {"window", "strides", "dilations"}, spatial, 1, 2, 3);
  if (lists.ok())
    lists = checkLists(use, {"low", "high"}, spatial, 0, 2, 3);
  if (!lists.ok())
    return lists;
  Dims to = {x[0], x[1]};
  for (size_t i = 0; i < spatial; ++i)
    to.push_back(positions(use, x[i + 2], i64s(use, "window")[i], i));
  return withDims(use, std::move(to));
}

Types avg_pool(const OpUse &use) { return pool(use); }

// ---- contractions of small integers ----

namespace {

/// Operands 0 and 1 are i8 or u8, 2 and 3 have their dtypes.
Status checkSmallIntegers(const OpUse &use) {
  for (size_t i = 0; i < 2; ++i) {
    const TensorType &operand = use.operands[i], &zero = use.operands[i + 2];
    bool isSmall = operand.dtype == DType::I8 || operand.dtype == DType::U8;
    if (!isSmall || zero.dtype != operand.dtype)
      return broken(use, 5, operand.str() + " with the zero " + zero.str());
  }
  return {};
}

/// Whether a zero point has rank 0 or goes along an axis of this size.
bool isZeroPoint(const TensorType &zero, const Dim &size) {
  return zero.rank() == 0 || zero.dims == Dims{size};
}

Types asI32(const OpUse &use, Types types, const Dim &first,
            const Dim &second) {
  const TensorType &a = use.operands[2], &b = use.operands[3];
  if (!isZeroPoint(a, first) || !isZeroPoint(b, second))
    return broken(use, 6, a.str() + " and " + b.str());
  (*types)[0].dtype = DType::I32;
  return types;
}

} // namespace

Types matmul_integer(const OpUse &use) {
  if (Status status = checkSmallIntegers(use); !status.ok())
    return status;
  Types types = matmul(use);
  if (!types)
    return types;
  const Dims to = (*types)[0].dims;
  return asI32(use, std::move(types), to[to.size() - 2], to.back());
}

Types conv_integer(const OpUse &use) {
  if (Status status = checkSmallIntegers(use); !status.ok())
    return status;
  Types types = conv(use);
  if (!types)
    return types;
  if (use.operands[2].rank() != 0)
    return broken(use, 6, use.operands[2].str());
  return asI32(use, std::move(types), Dim(1), use.operands[1].dims[0]);
}

} // namespace backplane::rules
