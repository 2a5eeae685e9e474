// SPDX-License-Identifier: Apache-2.0
//
// LoadStore.cpp: ld, ldu, st and prefetch.
#include "Access.h"
#include "Lanes.h"

namespace emulator {
namespace {

// E: what is in memory, R: what the register has.
template <class E, class R>
void loadPart(Warp &warp, const Access &access, const Reg &reg, uint32_t at) {
  R *to = warp.at<R>(reg);
  if (access.contiguous) {
    // The bytes of a lane may be more than this part.
    const uint8_t *from = access.pointer[0] + at;
    const size_t step = size_t(access.pointer[1] - access.pointer[0]);
    for (uint32_t i = 0; i < kLanes; ++i) {
      E value;
      std::memcpy(&value, from + i * step, sizeof(E));
      to[i] = R(value);
    }
    return;
  }
  for (uint32_t lanes = warp.mask; lanes; lanes &= lanes - 1) {
    auto i = uint32_t(std::countr_zero(lanes));
    E value;
    std::memcpy(&value, access.pointer[i] + at, sizeof(E));
    to[i] = R(value);
  }
}

template <class E> void load(Warp &warp, const Inst &inst) {
  const uint32_t parts = inst.results;
  Access access(warp, inst, parts, uint32_t(sizeof(E)) * parts, Use::Read);
  for (uint32_t k = 0; k < parts; ++k) {
    const Reg &reg = warp.reg(inst, k);
    const uint32_t at = k * uint32_t(sizeof(E));
    byWidth(std::min(reg.width, 8u), [&](auto zero) {
      // Signed types extend their sign; a byte of a register has none.
      using Wide = std::conditional_t<std::is_signed_v<E> && sizeof(zero) != 1,
                                      std::make_signed_t<decltype(zero)>,
                                      decltype(zero)>;
      loadPart<E, Wide>(warp, access, reg, at);
    });
  }
}

// One parameter for all lanes, which needs no check of each.
template <class E> void loadParameter(Warp &warp, const Inst &inst) {
  const std::vector<uint8_t> &parameters = warp.launch->parameters;
  const uint64_t at =
      uint64_t(inst.offset) + *warp.values<uint64_t>(inst, inst.results);
  const size_t size = sizeof(E) * inst.results;
  if (at > parameters.size() || size > parameters.size() - at || at % size != 0)
    return load<E>(warp, inst); // which says what is wrong
  for (uint32_t k = 0; k < inst.results; ++k) {
    const Reg &reg = warp.reg(inst, k);
    E value;
    const uint64_t part = at + k * sizeof(E);
    std::memcpy(&value, parameters.data() + part, sizeof(E));
    byWidth(std::min(reg.width, 8u), [&](auto zero) {
      using Wide = decltype(zero);
      store(warp, warp.at<Wide>(reg), [=](uint32_t) { return Wide(value); });
    });
  }
}

template <class E>
void storePart(Warp &warp, const Access &access, const Reg &reg, uint32_t at) {
  const uint8_t *from = warp.at<uint8_t>(reg);
  if (access.contiguous && reg.width == sizeof(E) &&
      access.pointer[0] + sizeof(E) == access.pointer[1]) {
    std::memcpy(access.pointer[0], from, sizeof(E) * kLanes);
    return;
  }
  for (uint32_t lanes = warp.mask; lanes; lanes &= lanes - 1) {
    auto i = uint32_t(std::countr_zero(lanes));
    std::memcpy(access.pointer[i] + at, from + size_t(i) * reg.width,
                sizeof(E));
  }
}

template <class E> void storeLanes(Warp &warp, const Inst &inst) {
  const uint32_t parts = inst.sources - 1u;
  uint32_t undefined = 0;
  if (warp.launch->options.poison) {
    if (uint32_t bad = warp.poison[warp.reg(inst, 0).id] & warp.mask)
      warp.fault(CUDA_ERROR_LAUNCH_FAILED, uint32_t(std::countr_zero(bad)),
                 "the address is in a register that was never written");
    for (uint32_t k = 0; k < parts; ++k)
      undefined |= warp.poison[warp.reg(inst, 1 + k).id] & warp.mask;
  }
  Access access(warp, inst, 0, uint32_t(sizeof(E)) * parts, Use::Write,
                undefined);
  // What is undefined may be kept, but must not leave the block.
  if (undefined && access.space != Space::Shared &&
      access.space != Space::Local)
    warp.fault(CUDA_ERROR_LAUNCH_FAILED, uint32_t(std::countr_zero(undefined)),
               "the value of a register that was never written is stored");
  for (uint32_t k = 0; k < parts; ++k)
    storePart<E>(warp, access, warp.reg(inst, 1 + k), k * uint32_t(sizeof(E)));
}

Handler loadHandler(Type type, Space space) {
  return forUnsigned(type, [=](auto zero) -> Handler {
    using Unsigned = decltype(zero);
    using Signed = std::make_signed_t<Unsigned>;
    if (isSigned(type))
      return space == Space::Param ? loadParameter<Signed> : load<Signed>;
    return space == Space::Param ? loadParameter<Unsigned> : load<Unsigned>;
  });
}

Handler storeHandler(Type type) {
  return forUnsigned(
      type, [](auto zero) -> Handler { return storeLanes<decltype(zero)>; });
}

// Orders, scopes and hints about caches: every access is in order here.
void ignoreHints(Decoder &d) {
  d.ignore({"weak", "relaxed", "acquire", "release", "volatile", "mmio"});
  d.ignore({"cta", "cluster", "gpu", "sys", "unified"});
  d.ignore({"ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc"});
  d.ignore({"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first",
            "L1::evict_last", "L1::no_allocate"});
  d.ignore({"L2::evict_normal", "L2::evict_first", "L2::evict_last", "L2::64B",
            "L2::128B", "L2::256B"});
}

uint32_t takeParts(Decoder &d) {
  if (d.take("v2"))
    return 2;
  if (d.take("v4"))
    return 4;
  if (d.take("v8")) {
    d.needs(100);
    return 8;
  }
  return 1;
}

bool decodeLoad(Decoder &d) {
  ignoreHints(d);
  Space space = d.takeSpace(Space::Generic);
  uint32_t parts = takeParts(d);
  Type type = d.takeType();
  const Operand &to = d.operand(0);
  if (parts == 1) {
    d.result(to, type, true);
  } else {
    if (to.kind != Operand::Vector || to.parts.size() != parts)
      d.bad("expected a vector of " + std::to_string(parts));
    for (const Operand &part : to.parts)
      d.result(part, type, true);
  }
  d.address(d.operand(1), space);
  d.inst.bytes = uint8_t(bytesOf(type));
  d.inst.flags |= kSink;
  bool fixed = d.inst.space == Space::Param &&
               d.operand(1).name.find('%') == std::string::npos;
  d.finish(loadHandler(type, fixed ? Space::Param : Space::Generic),
           Class::Memory);
  return true;
}

bool decodeStore(Decoder &d) {
  ignoreHints(d);
  Space space = d.takeSpace(Space::Generic);
  uint32_t parts = takeParts(d);
  Type type = d.takeType();
  d.address(d.operand(0), space);
  const Operand &from = d.operand(1);
  if (parts == 1) {
    d.source(from, type, true);
  } else {
    if (from.kind != Operand::Vector || from.parts.size() != parts)
      d.bad("expected a vector of " + std::to_string(parts));
    for (const Operand &part : from.parts)
      d.source(part, type, true);
  }
  if (d.inst.space == Space::Const || d.inst.space == Space::Param)
    d.bad(std::string(spaceName(d.inst.space)) + " memory cannot be written");
  d.inst.bytes = uint8_t(bytesOf(type));
  d.inst.flags |= kOwnPoison;
  d.finish(storeHandler(type), Class::Memory);
  return true;
}

void nothing(Warp &, const Inst &) {}

} // namespace

bool decodeMemory(Decoder &d) {
  if (d.is("ld") || d.is("ldu"))
    return decodeLoad(d);
  if (d.is("st"))
    return decodeStore(d);
  if (d.is("prefetch") || d.is("prefetchu") || d.is("applypriority") ||
      d.is("discard")) {
    d.takeSpace(Space::Generic);
    d.ignore({"L1", "L2", "L2::evict_last", "L2::evict_normal", "L2::128B",
              "tensormap"});
    d.finish(nothing, Class::Memory);
    return true;
  }
  return false;
}

} // namespace emulator
