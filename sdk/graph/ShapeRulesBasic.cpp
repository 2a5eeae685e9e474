// SPDX-License-Identifier: Apache-2.0
//
// Shape rules of constants, elementwise ops and normalisations, and the
// helpers that all rules share.
#include "ShapeRules.h"
#include "sdk/support/Joined.h"

#include <algorithm>

namespace backplane::rules {

namespace {

template <typename T> const T &get(const OpUse &use, std::string_view name) {
  return std::get<T>(use.attributes.find(name)->second);
}

bool isStatic(const Dims &dims) {
  return std::all_of(dims.begin(), dims.end(),
                     [](const Dim &dim) { return dim.constant().has_value(); });
}

} // namespace

int64_t i64(const OpUse &use, std::string_view name) {
  return get<int64_t>(use, name);
}
const std::string &string(const OpUse &use, std::string_view name) {
  return get<std::string>(use, name);
}
const std::vector<int64_t> &i64s(const OpUse &use, std::string_view name) {
  return get<std::vector<int64_t>>(use, name);
}
const Dims &dims(const OpUse &use, std::string_view name) {
  return get<Dims>(use, name);
}
DType dtype(const OpUse &use) { return DType(get<int64_t>(use, "dtype")); }

Status broken(const OpUse &use, size_t constraint, const std::string &found) {
  return invalidArgument(
      std::string(use.spec.name) + " C" + std::to_string(constraint) + ": " +
      std::string(use.spec.constraints[constraint - 1]) + ", found " + found);
}

std::string text(const Dims &dims) {
  return "[" + joined(dims, ", ", &Dim::str) + "]";
}

std::string text(std::span<const int64_t> values) {
  return text(Dims(values.begin(), values.end()));
}

Result<size_t> axis(const OpUse &use, size_t rank, size_t constraint) {
  int64_t axis = i64(use, "axis");
  if (axis < 0 || static_cast<uint64_t>(axis) >= rank)
    return broken(use, constraint,
                  "axis " + std::to_string(axis) + " of rank " +
                      std::to_string(rank));
  return static_cast<size_t>(axis);
}

bool ascend(std::span<const int64_t> values, size_t limit) {
  int64_t next = 0;
  for (int64_t value : values) {
    if (value < next || static_cast<uint64_t>(value) >= limit)
      return false;
    next = value + 1;
  }
  return true;
}

Types withDims(const OpUse &use, Dims dims) {
  return std::vector{TensorType{use.operands[0].dtype, std::move(dims)}};
}

// ---- constants ----

Types typed(const OpUse &use) {
  const Dims &sizes = dims(use, "dims");
  if (!isStatic(sizes))
    return broken(use, 1, text(sizes));
  return std::vector{TensorType{dtype(use), sizes}};
}

Types weight(const OpUse &use) {
  const std::string &id = string(use, "id");
  bool isHash =
      id.size() == 32 && std::all_of(id.begin(), id.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
      });
  if (!isHash)
    return broken(use, 2, "\"" + id + "\"");
  return typed(use);
}

Types constant(const OpUse &use) {
  TensorType type{dtype(use), dims(use, "dims")};
  const Bytes &value = get<Bytes>(use, "value");
  size_t size = value.size();
  if (size > maxConstantBytes)
    return broken(use, 2, std::to_string(size) + " bytes");
  bool isOne = size == (bitWidth(type.dtype) + 7) / 8;
  bool isAll = type.isStatic() && type.bytes() == Dim(int64_t(size));
  if (!isOne && !isAll)
    return broken(use, 1, std::to_string(size) + " bytes for " + type.str());
  return std::vector{type};
}

Types iota(const OpUse &use) {
  const Dims &sizes = dims(use, "dims");
  if (Result<size_t> along = axis(use, sizes.size(), 1); !along)
    return along.status();
  return std::vector{TensorType{dtype(use), sizes}};
}

Types random_bits(const OpUse &use) {
  for (const TensorType &operand : use.operands)
    if (operand != TensorType{DType::U64, {}})
      return broken(use, 1, operand.str());
  return std::vector{TensorType{DType::U32, dims(use, "dims")}};
}

Types dim(const OpUse &use) {
  int64_t count = static_cast<int64_t>(dims(use, "value").size());
  return std::vector{TensorType{DType::I64, {Dim(count)}}};
}

Types read(const OpUse &use) {
  const TensorType &x = use.operands[0];
  if (x.dtype != DType::I64 || x.rank() != 0)
    return broken(use, 1, x.str());
  if (const Dims &bound = dims(use, "bound"); bound.size() != 1)
    return broken(use, 2, text(bound));
  return std::vector{x};
}

Types none(const OpUse &) { return std::vector<TensorType>(); }

// ---- elementwise ----

Types same(const OpUse &use) {
  for (const TensorType &operand : use.operands)
    if (operand.dims != use.operands[0].dims)
      return broken(use, 1,
                    text(use.operands[0].dims) + " and " + text(operand.dims));
  return withDims(use, use.operands[0].dims);
}

Types same_bool(const OpUse &use) {
  Types types = same(use);
  if (types)
    (*types)[0].dtype = DType::Bool;
  return types;
}

Types cast(const OpUse &use) {
  return std::vector{TensorType{dtype(use), use.operands[0].dims}};
}

Types select(const OpUse &use) {
  const TensorType &condition = use.operands[0], &a = use.operands[1],
                   &b = use.operands[2];
  if (a.dims != b.dims)
    return broken(use, 2, text(a.dims) + " and " + text(b.dims));
  if (condition.dtype != DType::Bool || condition.dims != a.dims)
    return broken(use, 1, condition.str() + " for " + text(a.dims));
  return std::vector{a};
}

// ---- normalisation ----

Types softmax(const OpUse &use) {
  const TensorType &x = use.operands[0];
  if (Result<size_t> along = axis(use, x.rank(), 1); !along)
    return along.status();
  return std::vector{x};
}

Types layer_norm(const OpUse &use) {
  const TensorType &x = use.operands[0];
  Result<size_t> first = axis(use, x.rank(), 2);
  if (!first)
    return first.status();
  Dims inner(x.dims.begin() + static_cast<ptrdiff_t>(*first), x.dims.end());
  for (const TensorType &factor : use.operands.subspan(1))
    if (factor.dims != inner)
      return broken(use, 1, text(factor.dims) + " for " + text(inner));
  return std::vector{x};
}

Types rms_norm(const OpUse &use) { return layer_norm(use); }

Types batch_norm(const OpUse &use) {
  const TensorType &x = use.operands[0];
  if (x.rank() < 2)
    return broken(use, 2, "rank " + std::to_string(x.rank()));
  for (const TensorType &factor : use.operands.subspan(1))
    if (factor.dims != Dims{x.dims[1]})
      return broken(use, 1, text(factor.dims) + " for " + text({x.dims[1]}));
  return std::vector{x};
}

Types group_norm(const OpUse &use) {
  Types types = batch_norm(use);
  if (!types)
    return types;
  int64_t groups = i64(use, "groups");
  const Dim &channels = use.operands[0].dims[1];
  if (groups < 1 || mod(channels, groups) != Dim(0))
    return broken(use, 3,
                  "groups " + std::to_string(groups) + " of " + channels.str());
  return types;
}

} // namespace backplane::rules
