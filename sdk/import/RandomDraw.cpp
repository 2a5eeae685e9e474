// SPDX-License-Identifier: Apache-2.0
#include "RandomDraw.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace backplane::frontend {

namespace {

/// Above the 32 bits of the seed or number of a node: whether it is a number,
/// then how many draws of the node came before.
constexpr uint64_t kUnseeded = uint64_t(1) << 32;
constexpr uint64_t kNextDraw = uint64_t(1) << 33;

unsigned digitsOf(DType dtype) {
  switch (dtype) {
  case DType::F64:
    return 53;
  case DType::F32:
    return 24;
  case DType::F16:
    return 11;
  default:
    return 8; // bf16
  }
}

} // namespace

RandomDraw::RandomDraw(Node &node) : node_(node) {
  if (!node.hasAttribute("seed"))
    key_ = kUnseeded | node.importer().nextRandomOp();
  else if (node.opType() == "Dropout")
    key_ = uint32_t(node.i64("seed", 0));
  else
    key_ = std::bit_cast<uint32_t>(float(node.f64("seed", 0)));
}

ValueId RandomDraw::bits(const Dims &dims) {
  if (!node_.ok())
    return kNone;
  Result<ValueId> counter = node_.importer().randomCounter();
  if (!counter.ok()) {
    node_.fail(counter.status());
    return kNone;
  }
  ValueId key = node_.fillInteger(DType::U64, static_cast<int64_t>(key_), {});
  key_ += kNextDraw;
  return node_.op("random_bits", {key, *counter}, {{"dims", dims}});
}

ValueId RandomDraw::scaled(ValueId value, double factor) {
  return node_.op("mul", {value, node_.fillLike(value, factor)});
}

ValueId RandomDraw::whole(DType dtype, unsigned digits, const Dims &dims) {
  unsigned first = std::min(digits, 32u);
  ValueId top = bits(dims);
  if (first < 32)
    top =
        node_.op("shr", {top, node_.fillInteger(DType::U32, 32 - first, dims)});
  top = node_.cast(top, dtype);
  if (digits == first)
    return top;
  return node_.op("add", {scaled(top, std::ldexp(1, int(digits - first))),
                          whole(dtype, digits - first, dims)});
}

ValueId RandomDraw::uniform(DType dtype, const Dims &dims) {
  unsigned digits = digitsOf(dtype);
  return scaled(whole(computedAs(dtype), digits, dims),
                std::ldexp(1, -int(digits)));
}

ValueId RandomDraw::normal(DType dtype, const Dims &dims) {
  DType computed = computedAs(dtype);
  // In (0, 1], with as many bits below 1 / 2 as there are: the tail is as long
  // as they allow.
  unsigned digits = computed == DType::F64 ? 53 : 32;
  ValueId count = whole(computed, digits, dims);
  ValueId inside = scaled(node_.op("add", {count, node_.fillLike(count, 1)}),
                          std::ldexp(1, -int(digits)));
  ValueId radius = node_.op("sqrt", {scaled(node_.op("log", {inside}), -2)});
  ValueId turn = scaled(uniform(computed, dims), 2 * std::numbers::pi);
  return node_.op("mul", {radius, node_.op("cos", {turn})});
}

} // namespace backplane::frontend
