// SPDX-License-Identifier: Apache-2.0
//
// Atomic.cpp: atom and red. Lanes come one after another, in their order.
#include "Access.h"
#include "Lanes.h"

#include <cmath>

namespace emulator {
namespace {

enum Op : uint32_t { Add, Min, Max, And, Or, Xor, Exch, Cas, Inc, Dec };
constexpr const char *kOps[] = {"add", "min",  "max", "and", "or",
                                "xor", "exch", "cas", "inc", "dec"};

template <class T> T integer(uint32_t op, T old, T b, T c) {
  switch (op) {
  case Add:
    return T(std::make_unsigned_t<T>(old) + std::make_unsigned_t<T>(b));
  case Min:
    return old < b ? old : b;
  case Max:
    return old > b ? old : b;
  case And:
    return T(old & b);
  case Or:
    return T(old | b);
  case Xor:
    return T(old ^ b);
  case Exch:
    return b;
  case Cas:
    return old == b ? c : old;
  case Inc:
    return old >= b ? T(0) : T(old + 1);
  default:
    return old == 0 || old > b ? b : T(old - 1);
  }
}

template <class T> struct Integer {
  using type = T;
  static T apply(uint32_t op, T old, T b, T c) {
    return integer(op, old, b, c);
  }
};
template <class T> struct Float {
  using type = T;
  static T apply(uint32_t op, T old, T b, T) {
    return op == Add   ? old + b
           : op == Min ? std::fmin(old, b)
                       : std::fmax(old, b);
  }
};
template <class T> struct Half {
  using type = T;
  static T apply(uint32_t op, T old, T b, T) {
    float x = old.value(), y = b.value();
    return T::from(op == Add   ? x + y
                   : op == Min ? std::fmin(x, y)
                               : std::fmax(x, y));
  }
};
template <class T> struct HalfPair {
  using type = pair<T>;
  static pair<T> apply(uint32_t op, pair<T> old, pair<T> b, pair<T>) {
    return {Half<T>::apply(op, old.low, b.low, {}),
            Half<T>::apply(op, old.high, b.high, {})};
  }
};

// Sources: the address, then for each part the operands. inst.b: 1 for atom,
// which returns the old value; inst.c: parts of a vector.
template <class F> void atomic(Warp &warp, const Inst &inst) {
  using T = typename F::type;
  const uint32_t parts = inst.c, first = inst.results;
  Access access(warp, inst, first, uint32_t(sizeof(T)) * parts, Use::Atomic);
  for (uint32_t lanes = warp.mask; lanes; lanes &= lanes - 1) {
    auto i = uint32_t(std::countr_zero(lanes));
    for (uint32_t k = 0; k < parts; ++k) {
      T old, b = warp.values<T>(inst, first + 1 + k)[i];
      T c = inst.a == Cas ? warp.values<T>(inst, first + 2)[i] : b;
      uint8_t *at = access.pointer[i] + k * sizeof(T);
      std::memcpy(&old, at, sizeof(T));
      T made = F::apply(inst.a, old, b, c);
      std::memcpy(at, &made, sizeof(T));
      if (inst.results)
        warp.values<T>(inst, k)[i] = old;
    }
  }
}

Handler handlerOf(Type type, uint32_t op) {
  bool isLogic = op == And || op == Or || op == Xor || op == Exch || op == Cas;
  bool ordered = op == Add || op == Min || op == Max;
  switch (type) {
  case Type::B16:
    return op == Cas || op == Exch ? atomic<Integer<uint16_t>> : nullptr;
  case Type::B32:
    return isLogic ? atomic<Integer<uint32_t>> : nullptr;
  case Type::U32:
    return isLogic && op != Exch && op != Cas ? nullptr
                                              : atomic<Integer<uint32_t>>;
  case Type::S32:
    return ordered || op == Exch ? atomic<Integer<int32_t>> : nullptr;
  case Type::B64:
    return isLogic ? atomic<Integer<uint64_t>> : nullptr;
  case Type::U64:
    return ordered || op == Exch || op == Cas ? atomic<Integer<uint64_t>>
                                              : nullptr;
  case Type::S64:
    return ordered ? atomic<Integer<int64_t>> : nullptr;
  case Type::F32:
    return ordered ? atomic<Float<float>> : nullptr;
  case Type::F64:
    return op == Add ? atomic<Float<double>> : nullptr;
  case Type::F16:
    return ordered ? atomic<Half<half>> : nullptr;
  case Type::BF16:
    return ordered ? atomic<Half<bfloat>> : nullptr;
  case Type::F16x2:
    return ordered ? atomic<HalfPair<half>> : nullptr;
  case Type::BF16x2:
    return ordered ? atomic<HalfPair<bfloat>> : nullptr;
  default:
    return nullptr;
  }
}

} // namespace

bool decodeAtomic(Decoder &d) {
  bool returns = d.is("atom");
  if (!returns && !d.is("red"))
    return false;
  if (d.has("async"))
    return false;
  d.ignore({"relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu",
            "sys", "noftz"});
  Space space = d.takeSpace(Space::Generic);
  uint32_t parts = 1;
  for (auto [name, count] : {std::pair{"v2", 2u}, {"v4", 4u}, {"v8", 8u}})
    if (d.take(name)) {
      d.needs(90);
      parts = count;
    }
  bool found = false;
  for (uint32_t i = 0; i < std::size(kOps) && !found; ++i)
    if (d.take(kOps[i]))
      d.inst.a = i, found = true;
  if (!found)
    d.bad("expected an operation such as .add");
  Type type = d.takeType();
  size_t at = 0;
  auto each = [&](const Operand &operand, auto &&visit) {
    if (parts == 1)
      return visit(operand);
    if (operand.parts.size() != parts)
      d.bad("expected a vector of " + std::to_string(parts));
    for (const Operand &part : operand.parts)
      visit(part);
  };
  if (returns)
    each(d.operand(at++), [&](const Operand &o) { d.result(o, type); });
  d.address(d.operand(at++), space);
  each(d.operand(at++), [&](const Operand &o) { d.source(o, type); });
  if (d.inst.a == Cas)
    d.source(d.operand(at++), type);
  if (d.count() > at)
    d.bad("it has too many operands");
  d.inst.c = parts;
  d.inst.bytes = uint8_t(bytesOf(type));
  d.inst.flags |= kSink;
  d.finish(handlerOf(type, d.inst.a), Class::Memory);
  return true;
}

} // namespace emulator
