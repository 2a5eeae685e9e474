// SPDX-License-Identifier: Apache-2.0
//
// BitFields.cpp: fields of bits, masks, and the n-th bit of a mask.
#include "Lanes.h"

#include <algorithm>

namespace emulator {
namespace {

template <class T> T extract(T a, uint32_t from, uint32_t length) {
  using U = std::make_unsigned_t<T>;
  constexpr uint32_t bits = 8 * sizeof(T);
  from &= 0xff;
  length &= 0xff;
  U field = from < bits ? U(U(a) >> from) : U(0);
  if (!length)
    return 0;
  // A field that goes beyond the top has the sign there.
  bool negative = false;
  if constexpr (T(-1) < T(0))
    negative = U(a) >> std::min(from + length - 1, bits - 1) & 1;
  if (length >= bits - std::min(from, bits))
    length = bits - std::min(from, bits);
  U mask = length >= bits ? U(~U(0)) : U((U(1) << length) - 1);
  field &= mask;
  return T(negative ? field | ~mask : field);
}

template <class T> T insert(T a, T b, uint32_t from, uint32_t length) {
  constexpr uint32_t bits = 8 * sizeof(T);
  from &= 0xff;
  length &= 0xff;
  if (from >= bits || !length)
    return b;
  T mask = length >= bits ? T(~T(0)) : T((T(1) << length) - 1);
  mask = T(mask << from);
  return T((b & ~mask) | (T(a << from) & mask));
}

template <class T> void insertLanes(Warp &warp, const Inst &inst) {
  const T *a = warp.values<T>(inst, 1), *b = warp.values<T>(inst, 2);
  const uint32_t *from = warp.values<uint32_t>(inst, 3);
  const uint32_t *length = warp.values<uint32_t>(inst, 4);
  store(warp, warp.values<T>(inst, 0),
        [=](uint32_t i) { return insert(a[i], b[i], from[i], length[i]); });
}

bool fields(Decoder &d) {
  Type type = d.takeType();
  bool isInsert = d.is("bfi");
  d.result(d.operand(0), type);
  d.source(d.operand(1), type);
  if (isInsert)
    d.source(d.operand(2), type);
  d.source(d.operand(isInsert ? 3 : 2), Type::U32);
  d.source(d.operand(isInsert ? 4 : 3), Type::U32);
  Handler handler = nullptr;
  if (isInsert)
    handler =
        bytesOf(type) == 8 ? insertLanes<uint64_t> : insertLanes<uint32_t>;
  else
    handler = forInteger(type, [&](auto zero) -> Handler {
      using T = decltype(zero);
      return ternary<T, T, uint32_t, uint32_t>(
          [](T a, uint32_t b, uint32_t c) { return extract(a, b, c); });
    });
  d.finish(handler, Class::Integer);
  return true;
}

// bmsk: a mask of `b` bits from bit `a` on; szext: the `b` lowest bits of `a`,
// extended. .wrap takes numbers of bits modulo 32, .clamp at most 32.
template <bool wraps> uint32_t maskOf(uint32_t from, uint32_t count) {
  if (wraps)
    from &= 31, count &= 31;
  uint32_t mask = count >= 32 ? kAll : (uint32_t(1) << count) - 1;
  return from >= 32 ? 0 : mask << from;
}

template <class T, bool wraps> T extended(T value, uint32_t count) {
  if (wraps)
    count &= 31;
  if (count == 0 || count >= 32)
    return count ? value : 0;
  return T(T(uint32_t(value) << (32 - count)) >> (32 - count));
}

template <bool wraps> Handler masksOf(Decoder &d, Type type) {
  using W = uint32_t;
  if (d.is("bmsk"))
    return type == Type::B32
               ? binary<W, W, W>([](W a, W b) { return maskOf<wraps>(a, b); })
               : nullptr;
  if (type == Type::S32)
    return binary<int32_t, int32_t, W>(
        [](int32_t a, W b) { return extended<int32_t, wraps>(a, b); });
  return type == Type::U32 ? binary<W, W, W>([](W a, W b) {
    return extended<W, wraps>(a, b);
  })
                           : nullptr;
}

bool masks(Decoder &d) {
  bool wraps = d.take("wrap");
  if (!wraps && !d.take("clamp"))
    d.bad("expected .clamp or .wrap");
  Type type = d.takeType();
  d.result(d.operand(0), type);
  d.source(d.operand(1), type);
  d.source(d.operand(2), Type::B32);
  d.finish(wraps ? masksOf<true>(d, type) : masksOf<false>(d, type),
           Class::Integer);
  return true;
}

// fns: the place of the n-th bit of a mask that is set, from `base` on; upwards
// for n > 0, downwards for n < 0. With n = 0 `base` itself, when it is set.
uint32_t nthSet(uint32_t mask, uint32_t base, int32_t n) {
  const int64_t step = n < 0 ? -1 : 1;
  int64_t left = n < 0 ? -int64_t(n) : n;
  for (int64_t at = base; at >= 0 && at < 32; at += step) {
    left -= mask >> at & 1;
    if ((mask >> at & 1) && left <= 0)
      return uint32_t(at);
    if (n == 0)
      break;
  }
  return kAll;
}

bool findSet(Decoder &d) {
  d.take("b32");
  d.result(d.operand(0), Type::B32);
  for (size_t i = 1; i < 4; ++i)
    d.source(d.operand(i), Type::B32);
  using W = uint32_t;
  d.finish(ternary<W, W, W, int32_t>(
               [](W mask, W base, int32_t n) { return nthSet(mask, base, n); }),
           Class::Integer);
  return true;
}

} // namespace

bool decodeBitFields(Decoder &d) {
  if (d.is("bfe") || d.is("bfi"))
    return fields(d);
  if (d.is("bmsk") || d.is("szext"))
    return masks(d);
  if (d.is("fns"))
    return findSet(d);
  return false;
}

} // namespace emulator
