// SPDX-License-Identifier: Apache-2.0
//
// Shuffle.cpp: what lanes of a warp tell each other: shfl, vote, match, redux,
// activemask, elect.
#include "Lanes.h"

namespace emulator {
namespace {

enum Mode : uint32_t { Up, Down, Bfly, Idx };

// Members come last of the sources. Inactive ones never come: waits or faults.
bool gathered(Warp &warp, const Inst &inst, uint32_t source) {
  auto lane = uint32_t(std::countr_zero(warp.mask));
  uint32_t members = warp.values<uint32_t>(inst, source)[lane];
  if (warp.mask & ~members)
    warp.fault(CUDA_ERROR_ILLEGAL_INSTRUCTION,
               uint32_t(std::countr_zero(warp.mask & ~members)),
               "the lane is not in its own mask of members");
  return warp.gather(members);
}

// shfl.sync d|p, a, b, c, members
void shuffle(Warp &warp, const Inst &inst) {
  const uint32_t n = inst.results;
  if (!gathered(warp, inst, n + 3))
    return;
  const uint32_t *a = warp.values<uint32_t>(inst, n);
  const uint32_t *b = warp.values<uint32_t>(inst, n + 1);
  const uint32_t *c = warp.values<uint32_t>(inst, n + 2);
  const bool checks = warp.launch->options.poison;
  const uint32_t poisonOfA = checks ? warp.poison[warp.reg(inst, n).id] : 0;
  uint32_t value[kLanes];
  uint32_t inRange = 0, poison = 0;
  for (uint32_t i = 0; i < kLanes; ++i) {
    uint32_t segment = c[i] >> 8 & 31, clamp = c[i] & 31, by = b[i] & 31;
    uint32_t last = (i & segment) | (clamp & ~segment);
    uint32_t first = i & segment;
    uint32_t from = 0;
    bool valid = false;
    switch (inst.a) {
    case Up:
      from = i - by;
      valid = int32_t(from) >= int32_t(last);
      break;
    case Down:
      from = i + by;
      valid = from <= last;
      break;
    case Bfly:
      from = i ^ by;
      valid = from <= last;
      break;
    default:
      from = first | (by & ~segment);
      valid = from <= last;
    }
    from = valid ? from & 31 : i;
    inRange |= uint32_t(valid) << i;
    if ((warp.mask >> i & 1) && valid && !(warp.mask >> from & 1))
      warp.fault(CUDA_ERROR_LAUNCH_FAILED, i,
                 "the value comes from lane " + std::to_string(from) +
                     ", which does not take part");
    value[i] = a[from];
    poison |= (poisonOfA >> from & 1) << i;
  }
  if (checks) {
    uint32_t &known = warp.poison[warp.reg(inst, 0).id];
    known = (known & ~warp.mask) | (poison & warp.mask);
    if (n > 1)
      warp.poison[warp.reg(inst, 1).id] &= ~warp.mask;
  }
  store(warp, warp.values<uint32_t>(inst, 0),
        [&](uint32_t i) { return value[i]; });
  if (n > 1)
    setPredicate(warp, warp.predicate(inst, 1), inRange);
}

bool decodeShuffle(Decoder &d) {
  if (!d.take("sync"))
    d.bad("shfl without .sync is not supported");
  constexpr const char *modes[] = {"up", "down", "bfly", "idx"};
  bool found = false;
  for (uint32_t i = 0; i < 4; ++i)
    if (d.take(modes[i]))
      d.inst.a = i, found = true;
  if (!found)
    d.bad("expected .up, .down, .bfly or .idx");
  d.takeType();
  const Operand &to = d.operand(0);
  d.result(to.kind == Operand::Pair ? to.parts[0] : to, Type::B32);
  if (to.kind == Operand::Pair)
    d.result(to.parts[1], Type::Pred);
  for (size_t i = 1; i < 5; ++i)
    d.source(d.operand(i), Type::B32);
  d.inst.flags |= kOwnPoison;
  d.finish(shuffle, Class::Control);
  return true;
}

enum Vote : uint32_t { All, Any, Uni, Ballot };

void vote(Warp &warp, const Inst &inst) {
  if (!gathered(warp, inst, 2))
    return;
  uint32_t value = warp.predicate(inst, 1);
  value = (inst.b ? ~value : value) & warp.mask;
  if (inst.a == Ballot) {
    store(warp, warp.values<uint32_t>(inst, 0),
          [=](uint32_t) { return value; });
    return;
  }
  bool yes = inst.a == All   ? value == warp.mask
             : inst.a == Any ? value != 0
                             : value == 0 || value == warp.mask;
  setPredicate(warp, warp.predicate(inst, 0), yes ? kAll : 0);
}

bool decodeVote(Decoder &d) {
  if (!d.take("sync"))
    d.bad("vote without .sync is not supported");
  constexpr const char *modes[] = {"all", "any", "uni", "ballot"};
  for (uint32_t i = 0; i < 4; ++i)
    if (d.take(modes[i]))
      d.inst.a = i;
  d.takeType();
  d.result(d.operand(0), d.inst.a == Ballot ? Type::B32 : Type::Pred);
  d.source(d.operand(1), Type::Pred);
  d.inst.b = d.operand(1).negated;
  d.source(d.operand(2), Type::B32);
  d.inst.flags |= kSink;
  d.finish(vote, Class::Control);
  return true;
}

template <class T> void match(Warp &warp, const Inst &inst) {
  const uint32_t n = inst.results;
  if (!gathered(warp, inst, n + 1))
    return;
  const T *a = warp.values<T>(inst, n);
  uint32_t same[kLanes] = {};
  for (uint32_t i = 0; i < kLanes; ++i)
    for (uint32_t k = 0; k < kLanes; ++k)
      same[i] |= uint32_t((warp.mask >> k & 1) && a[i] == a[k]) << k;
  bool isAll = inst.a;
  bool equal = same[std::countr_zero(warp.mask)] == warp.mask;
  const uint32_t mask = warp.mask;
  store(warp, warp.values<uint32_t>(inst, 0), [&](uint32_t i) {
    return !isAll ? same[i] : equal ? mask : 0;
  });
  if (n > 1)
    setPredicate(warp, warp.predicate(inst, 1), equal ? kAll : 0);
}

bool decodeMatch(Decoder &d) {
  d.inst.a = d.take("all");
  d.take("any");
  d.take("sync");
  Type type = d.takeType();
  const Operand &to = d.operand(0);
  d.result(to.kind == Operand::Pair ? to.parts[0] : to, Type::B32);
  if (to.kind == Operand::Pair)
    d.result(to.parts[1], Type::Pred);
  d.source(d.operand(1), type);
  d.source(d.operand(2), Type::B32);
  d.inst.flags |= kSink;
  d.finish(bytesOf(type) == 8 ? match<uint64_t> : match<uint32_t>,
           Class::Control);
  return true;
}

enum Reduction : uint32_t { Add, Min, Max, And, Or, Xor };

template <class T> T combine(uint32_t op, T a, T b) {
  switch (op) {
  case Add:
    return T(uint32_t(a) + uint32_t(b));
  case Min:
    return a < b ? a : b;
  case Max:
    return a > b ? a : b;
  case And:
    return a & b;
  case Or:
    return a | b;
  default:
    return a ^ b;
  }
}

template <class T> void reduce(Warp &warp, const Inst &inst) {
  if (!gathered(warp, inst, 2))
    return;
  const T *a = warp.values<T>(inst, 1);
  T sum = 0;
  bool first = true;
  for (uint32_t i = 0; i < kLanes; ++i)
    if (warp.mask >> i & 1) {
      sum = first ? a[i] : combine(inst.a, sum, a[i]);
      first = false;
    }
  store(warp, warp.values<T>(inst, 0), [=](uint32_t) { return sum; });
}

bool decodeRedux(Decoder &d) {
  d.take("sync");
  constexpr const char *ops[] = {"add", "min", "max", "and", "or", "xor"};
  for (uint32_t i = 0; i < 6; ++i)
    if (d.take(ops[i]))
      d.inst.a = i;
  Type type = d.takeType();
  if (isFloat(type))
    d.bad("redux of floats is not supported");
  d.result(d.operand(0), type);
  d.source(d.operand(1), type);
  d.source(d.operand(2), Type::B32);
  d.inst.flags |= kSink;
  d.finish(type == Type::S32 ? reduce<int32_t> : reduce<uint32_t>,
           Class::Control);
  return true;
}

void activeMask(Warp &warp, const Inst &inst) {
  const uint32_t mask = warp.mask;
  store(warp, warp.values<uint32_t>(inst, 0), [=](uint32_t) { return mask; });
}

void elect(Warp &warp, const Inst &inst) {
  if (!gathered(warp, inst, inst.results))
    return;
  auto leader = uint32_t(std::countr_zero(warp.mask));
  store(warp, warp.values<uint32_t>(inst, 0), [=](uint32_t) { return leader; });
  setPredicate(warp, warp.predicate(inst, 1), 1u << leader);
}

} // namespace

bool decodeLanes(Decoder &d) {
  if (d.is("shfl"))
    return decodeShuffle(d);
  if (d.is("vote"))
    return decodeVote(d);
  if (d.is("match"))
    return decodeMatch(d);
  if (d.is("redux"))
    return decodeRedux(d);
  if (d.is("activemask")) {
    d.takeType();
    d.result(d.operand(0), Type::B32);
    d.finish(activeMask, Class::Control);
    return true;
  }
  if (d.is("elect")) {
    d.needs(90);
    d.take("sync");
    const Operand &to = d.operand(0);
    if (to.kind != Operand::Pair)
      d.bad("expected a register and a predicate");
    d.result(to.parts[0], Type::B32);
    d.result(to.parts[1], Type::Pred);
    d.source(d.operand(1), Type::B32);
    d.inst.flags |= kSink;
    d.finish(elect, Class::Control);
    return true;
  }
  return false;
}

} // namespace emulator
