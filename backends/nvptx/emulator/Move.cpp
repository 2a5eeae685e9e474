// SPDX-License-Identifier: Apache-2.0
//
// Move.cpp: mov, packing and unpacking, and conversions of addresses.
#include "Lanes.h"

namespace emulator {
namespace {

void movePredicate(Warp &warp, const Inst &inst) {
  uint32_t value = warp.predicate(inst, 1);
  setPredicate(warp, warp.predicate(inst, 0), inst.a ? ~value : value);
}

// One register of several: the first operand is the lowest.
void packLanes(Warp &warp, const Inst &inst) {
  const Reg &to = warp.reg(inst, 0);
  for (uint32_t i = 0; i < kLanes; ++i) {
    if (!(warp.mask >> i & 1))
      continue;
    uint8_t *target = warp.at<uint8_t>(to) + size_t(i) * to.width;
    for (uint32_t k = 0; k < inst.sources; ++k) {
      const Reg &part = warp.reg(inst, 1 + k);
      std::memcpy(target, warp.at<uint8_t>(part) + size_t(i) * part.width,
                  part.width);
      target += part.width;
    }
  }
}

void unpackLanes(Warp &warp, const Inst &inst) {
  const Reg &from = warp.reg(inst, inst.results);
  for (uint32_t i = 0; i < kLanes; ++i) {
    if (!(warp.mask >> i & 1))
      continue;
    const uint8_t *source = warp.at<uint8_t>(from) + size_t(i) * from.width;
    for (uint32_t k = 0; k < inst.results; ++k) {
      const Reg &part = warp.reg(inst, k);
      std::memcpy(warp.at<uint8_t>(part) + size_t(i) * part.width, source,
                  part.width);
      source += part.width;
    }
  }
}

Type typeOfBytes(uint32_t bytes) {
  switch (bytes) {
  case 1:
    return Type::B8;
  case 2:
    return Type::B16;
  case 4:
    return Type::B32;
  case 8:
    return Type::B64;
  default:
    return Type::None;
  }
}

bool packing(Decoder &d, Type type) {
  bool packs = d.operand(1).kind == Operand::Vector;
  const Operand &vector = d.operand(packs ? 1 : 0);
  if (vector.parts.size() != 2 && vector.parts.size() != 4)
    d.bad("a vector has 2 or 4 parts");
  Type part = typeOfBytes(bytesOf(type) / uint32_t(vector.parts.size()));
  if (packs)
    d.result(d.operand(0), type);
  for (const Operand &operand : vector.parts)
    packs ? d.source(operand, part) : d.result(operand, part);
  if (!packs)
    d.source(d.operand(1), type);
  d.finish(packs ? packLanes : unpackLanes, Class::Integer);
  return true;
}

template <class T> void clockLanes(Warp &warp, const Inst &inst) {
  T now = T(warp.executed);
  store(warp, warp.values<T>(inst, 0), [=](uint32_t) { return now; });
}

bool decodeMov(Decoder &d) {
  Type type = d.takeType();
  const Operand &from = d.operand(1);
  if (d.operand(0).kind == Operand::Vector || from.kind == Operand::Vector)
    return packing(d, type);
  d.result(d.operand(0), type);
  // A clock that counts instructions of the warp.
  if (from.name == "%clock" || from.name == "%clock64" ||
      from.name == "%globaltimer" || from.name == "%globaltimer_lo") {
    d.finish(bytesOf(type) == 8 ? clockLanes<uint64_t> : clockLanes<uint32_t>,
             Class::Integer);
    return true;
  }
  d.source(from, type);
  d.inst.a = from.negated;
  Handler handler = type == Type::Pred
                        ? movePredicate
                        : forUnsigned(type, [](auto zero) -> Handler {
                            using T = decltype(zero);
                            return unary<T, T>([](T a) { return a; });
                          });
  d.finish(handler, Class::Integer);
  return true;
}

// Adds or takes off the base of a window. Zero stays zero only in global
// memory.
void toGeneric(Warp &warp, const Inst &inst) {
  const uint64_t base = uint64_t(inst.offset);
  const uint64_t *a = warp.values<uint64_t>(inst, 1);
  store(warp, warp.values<uint64_t>(inst, 0),
        [=](uint32_t i) { return a[i] + base; });
}

bool decodeCvta(Decoder &d) {
  bool to = d.take("to");
  Space space = d.takeSpace(Space::Generic);
  Type type = d.takeType();
  if (bytesOf(type) != 8)
    d.bad("addresses of 32 bits are not generic");
  d.result(d.operand(0), type);
  d.source(d.operand(1), type);
  uint64_t window = space == Space::Shared  ? kSharedWindow
                    : space == Space::Local ? kLocalWindow
                    : space == Space::Param ? kParamWindow
                                            : 0;
  uint64_t base = windowBase(window);
  d.inst.offset = int64_t(to ? 0 - base : base);
  d.finish(toGeneric, Class::Integer);
  return true;
}

void isInSpace(Warp &warp, const Inst &inst) {
  const uint64_t *a = warp.values<uint64_t>(inst, 1);
  const auto space = Space(inst.a);
  uint32_t bits = 0;
  for (uint32_t i = 0; i < kLanes; ++i) {
    uint64_t window = windowOf(a[i]);
    bool is = space == Space::Shared  ? window == kSharedWindow
              : space == Space::Local ? window == kLocalWindow
              : space == Space::Param ? window == kParamWindow
                                      : window <= kDeviceWindow;
    bits |= uint32_t(is) << i;
  }
  setPredicate(warp, warp.predicate(inst, 0), bits);
}

bool decodeIsspacep(Decoder &d) {
  Space space = d.takeSpace(Space::Generic);
  if (space == Space::Generic || space == Space::Const)
    d.bad("expected .global, .shared, .local or .param");
  d.inst.a = uint32_t(space);
  d.result(d.operand(0), Type::Pred);
  d.source(d.operand(1), Type::U64);
  d.finish(isInSpace, Class::Integer);
  return true;
}

} // namespace

bool decodeMove(Decoder &d) {
  if (d.is("mov"))
    return decodeMov(d);
  if (d.is("cvta"))
    return decodeCvta(d);
  if (d.is("isspacep"))
    return decodeIsspacep(d);
  return false;
}

} // namespace emulator
