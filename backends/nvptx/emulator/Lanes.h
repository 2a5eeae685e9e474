// SPDX-License-Identifier: Apache-2.0
//
// Lanes.h: handlers that compute each lane by itself. `F` is a function of one
// lane; the loops are written so that the compiler vectorises them. What
// inactive lanes hold may be anything, so that F must not trap.
#pragma once

#include "Decoder.h"

namespace emulator {

// Results and sources of one instruction may be the same register, but lanes
// never overlap.
#define BP_EACH_LANE                                                           \
  _Pragma("clang loop vectorize(assume_safety)") for (uint32_t i = 0;          \
                                                      i < kLanes; ++i)

template <class D, class F> inline void store(Warp &warp, D *to, F value) {
  const uint32_t mask = warp.mask;
  if (mask == kAll) {
    BP_EACH_LANE to[i] = value(i);
  } else {
    for (uint32_t i = 0; i < kLanes; ++i)
      if (mask >> i & 1)
        to[i] = value(i);
  }
}

template <class D, class A, class F> void lanes1(Warp &warp, const Inst &inst) {
  const A *a = warp.values<A>(inst, inst.results);
  store(warp, warp.values<D>(inst, 0), [a](uint32_t i) { return F{}(a[i]); });
}

template <class D, class A, class B, class F>
void lanes2(Warp &warp, const Inst &inst) {
  const A *a = warp.values<A>(inst, inst.results);
  const B *b = warp.values<B>(inst, inst.results + 1);
  store(warp, warp.values<D>(inst, 0),
        [a, b](uint32_t i) { return F{}(a[i], b[i]); });
}

template <class D, class A, class B, class C, class F>
void lanes3(Warp &warp, const Inst &inst) {
  const A *a = warp.values<A>(inst, inst.results);
  const B *b = warp.values<B>(inst, inst.results + 1);
  const C *c = warp.values<C>(inst, inst.results + 2);
  store(warp, warp.values<D>(inst, 0),
        [a, b, c](uint32_t i) { return F{}(a[i], b[i], c[i]); });
}

// A predicate of each lane.
template <class A, class B, class F>
uint32_t test2(const A *a, const B *b, F test) {
  uint32_t bits = 0;
  for (uint32_t i = 0; i < kLanes; ++i)
    bits |= uint32_t(test(a[i], b[i])) << i;
  return bits;
}

inline void setPredicate(Warp &warp, uint32_t &predicate, uint32_t value) {
  predicate = (predicate & ~warp.mask) | (value & warp.mask);
}

// The handler of a function object, as unary<float, float>([](float x) {...}).
template <class D, class A, class F> Handler unary(F) {
  return lanes1<D, A, F>;
}
template <class D, class A, class B, class F> Handler binary(F) {
  return lanes2<D, A, B, F>;
}
template <class D, class A, class B, class C, class F> Handler ternary(F) {
  return lanes3<D, A, B, C, F>;
}

// Calls `make` with a value of the C++ type of an integer type of PTX; nullptr
// for any other. Untyped bits are unsigned.
template <class Make> Handler forInteger(Type type, Make make) {
  switch (type) {
  case Type::S16:
    return make(int16_t());
  case Type::U16:
  case Type::B16:
    return make(uint16_t());
  case Type::S32:
    return make(int32_t());
  case Type::U32:
  case Type::B32:
    return make(uint32_t());
  case Type::S64:
    return make(int64_t());
  case Type::U64:
  case Type::B64:
    return make(uint64_t());
  default:
    return nullptr;
  }
}

// Calls `make` with an unsigned integer of this many bytes; 0 or nullptr for
// any other number.
template <class Make> auto byWidth(uint32_t bytes, Make make) {
  switch (bytes) {
  case 1:
    return make(uint8_t());
  case 2:
    return make(uint16_t());
  case 4:
    return make(uint32_t());
  case 8:
    return make(uint64_t());
  default:
    return decltype(make(uint8_t()))();
  }
}

template <class Make> Handler forUnsigned(Type type, Make make) {
  return byWidth(bytesOf(type), make);
}

} // namespace emulator
