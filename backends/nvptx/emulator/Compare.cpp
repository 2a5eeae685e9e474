// SPDX-License-Identifier: Apache-2.0
//
// Compare.cpp: setp, set, selp and slct.
#include "Lanes.h"

namespace emulator {
namespace {

enum class Test : uint32_t {
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan,
};
constexpr const char *kTests[] = {"eq",  "ne",  "lt",  "le",  "gt",
                                  "ge",  "equ", "neu", "ltu", "leu",
                                  "gtu", "geu", "num", "nan"};

template <class T> uint32_t compareLanes(Test test, const T *a, const T *b) {
  // A NaN makes the plain tests false and those with a `u` true.
  switch (test) {
  case Test::Eq:
    return test2<T, T>(a, b, [](T x, T y) { return x == y; });
  case Test::Ne:
    return test2<T, T>(a, b, [](T x, T y) { return x < y || x > y; });
  case Test::Lt:
    return test2<T, T>(a, b, [](T x, T y) { return x < y; });
  case Test::Le:
    return test2<T, T>(a, b, [](T x, T y) { return x <= y; });
  case Test::Gt:
    return test2<T, T>(a, b, [](T x, T y) { return x > y; });
  case Test::Ge:
    return test2<T, T>(a, b, [](T x, T y) { return x >= y; });
  case Test::Equ:
    return ~compareLanes(Test::Ne, a, b);
  case Test::Neu:
    return ~compareLanes(Test::Eq, a, b);
  case Test::Ltu:
    return ~compareLanes(Test::Ge, a, b);
  case Test::Leu:
    return ~compareLanes(Test::Gt, a, b);
  case Test::Gtu:
    return ~compareLanes(Test::Le, a, b);
  case Test::Geu:
    return ~compareLanes(Test::Lt, a, b);
  case Test::Num:
    return test2<T, T>(a, b, [](T x, T y) { return x == x && y == y; });
  case Test::Nan:
    return ~compareLanes(Test::Num, a, b);
  }
  return 0;
}

template <class T>
uint32_t compareHalves(const Inst &inst, const T *a, const T *b,
                       uint32_t part) {
  float left[kLanes], right[kLanes];
  const uint32_t parts = inst.b >> 16;
  for (uint32_t i = 0; i < kLanes; ++i) {
    left[i] = a[i * parts + part].value();
    right[i] = b[i * parts + part].value();
  }
  return compareLanes(Test(inst.a), left, right);
}

// .and, .or and .xor with a third predicate.
uint32_t combined(Warp &warp, const Inst &inst, uint32_t value) {
  uint32_t mode = inst.b & 3;
  if (!mode)
    return value;
  uint32_t other = warp.predicate(inst, inst.results + 2);
  if (inst.b & 4)
    other = ~other;
  return mode == 1 ? value & other : mode == 2 ? value | other : value ^ other;
}

void setBoth(Warp &warp, const Inst &inst, uint32_t value) {
  // Both come from the sources; write after all are read.
  uint32_t first = combined(warp, inst, value);
  uint32_t second = combined(warp, inst, ~value);
  setPredicate(warp, warp.predicate(inst, 0), first);
  if (inst.results > 1)
    setPredicate(warp, warp.predicate(inst, 1), second);
}

template <class T> uint32_t testOf(Warp &warp, const Inst &inst) {
  const T *a = warp.values<T>(inst, inst.results);
  const T *b = warp.values<T>(inst, inst.results + 1);
  if constexpr (std::is_same_v<T, float>) {
    if (inst.b & 8) {
      float left[kLanes], right[kLanes];
      for (uint32_t i = 0; i < kLanes; ++i)
        left[i] = flush(a[i]), right[i] = flush(b[i]);
      return compareLanes(Test(inst.a), left, right);
    }
  }
  if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat>)
    return compareHalves(inst, a, b, 0);
  else
    return compareLanes(Test(inst.a), a, b);
}

template <class T> void setp(Warp &warp, const Inst &inst) {
  setBoth(warp, inst, testOf<T>(warp, inst));
}

// Of packed halves: p of the lower, q of the upper.
template <class T> void setpPacked(Warp &warp, const Inst &inst) {
  const T *a = warp.values<T>(inst, inst.results);
  const T *b = warp.values<T>(inst, inst.results + 1);
  uint32_t low = combined(warp, inst, compareHalves(inst, a, b, 0));
  uint32_t high = combined(warp, inst, compareHalves(inst, a, b, 1));
  setPredicate(warp, warp.predicate(inst, 0), low);
  if (inst.results > 1)
    setPredicate(warp, warp.predicate(inst, 1), high);
}

void setpPredicates(Warp &warp, const Inst &inst) {
  uint32_t a = warp.predicate(inst, inst.results);
  uint32_t b = warp.predicate(inst, inst.results + 1);
  setBoth(warp, inst, Test(inst.a) == Test::Eq ? ~(a ^ b) : a ^ b);
}

// Results of `set`: all ones or 1.0.
template <class T> void set(Warp &warp, const Inst &inst) {
  uint32_t value = combined(warp, inst, testOf<T>(warp, inst));
  const uint32_t yes = inst.c;
  if (warp.reg(inst, 0).width == 2)
    store(warp, warp.values<uint16_t>(inst, 0),
          [=](uint32_t i) { return uint16_t(value >> i & 1 ? yes : 0); });
  else
    store(warp, warp.values<uint32_t>(inst, 0),
          [=](uint32_t i) { return value >> i & 1 ? yes : 0; });
}

template <class T> void setPacked(Warp &warp, const Inst &inst) {
  const T *a = warp.values<T>(inst, 1);
  const T *b = warp.values<T>(inst, 2);
  uint32_t low = combined(warp, inst, compareHalves(inst, a, b, 0));
  uint32_t high = combined(warp, inst, compareHalves(inst, a, b, 1));
  const uint32_t yes = inst.c & 0xffff;
  store(warp, warp.values<uint32_t>(inst, 0), [=](uint32_t i) {
    return (low >> i & 1 ? yes : 0) | (high >> i & 1 ? yes << 16 : 0);
  });
}

struct Handlers {
  Handler setp, set;
};
template <class T> Handlers both() { return {setp<T>, set<T>}; }

Handlers handlersOf(Type type) {
  switch (type) {
  case Type::B16:
  case Type::U16:
    return both<uint16_t>();
  case Type::S16:
    return both<int16_t>();
  case Type::B32:
  case Type::U32:
    return both<uint32_t>();
  case Type::S32:
    return both<int32_t>();
  case Type::B64:
  case Type::U64:
    return both<uint64_t>();
  case Type::S64:
    return both<int64_t>();
  case Type::F32:
    return both<float>();
  case Type::F64:
    return both<double>();
  case Type::F16:
    return both<half>();
  case Type::BF16:
    return both<bfloat>();
  case Type::F16x2:
    return {setpPacked<half>, setPacked<half>};
  case Type::BF16x2:
    return {setpPacked<bfloat>, setPacked<bfloat>};
  case Type::Pred:
    return {setpPredicates, nullptr};
  default:
    return {nullptr, nullptr};
  }
}

// The comparison, the combination and .ftz.
void takeTest(Decoder &d) {
  bool found = false;
  for (uint32_t i = 0; i < std::size(kTests) && !found; ++i)
    if (d.take(kTests[i]))
      d.inst.a = i, found = true;
  // Of unsigned numbers: lower, lower or same, higher, higher or same.
  constexpr std::pair<const char *, Test> unsignedTests[] = {
      {"lo", Test::Lt}, {"ls", Test::Le}, {"hi", Test::Gt}, {"hs", Test::Ge}};
  for (auto [name, test] : unsignedTests)
    if (!found && d.take(name))
      d.inst.a = uint32_t(test), found = true;
  if (!found)
    d.bad("expected a comparison such as .lt");
  d.inst.b |= d.take("and") ? 1 : d.take("or") ? 2 : d.take("xor") ? 3 : 0;
  d.inst.b |= d.take("ftz") ? 8 : 0;
}

void operands(Decoder &d, Type type) {
  d.source(d.operand(1), type);
  d.source(d.operand(2), type);
  if (d.inst.b & 3) {
    d.source(d.operand(3), Type::Pred);
    d.inst.b |= d.operand(3).negated ? 4 : 0;
  } else if (d.count() > 3) {
    d.bad("a third operand needs .and, .or or .xor");
  }
  bool packed = type == Type::F16x2 || type == Type::BF16x2;
  d.inst.b |= (packed ? 2u : 1u) << 16;
}

bool decodeSetp(Decoder &d) {
  takeTest(d);
  Type type = d.takeType();
  const Operand &to = d.operand(0);
  if (to.kind == Operand::Pair) {
    d.result(to.parts[0], Type::Pred);
    d.result(to.parts[1], Type::Pred);
  } else {
    d.result(to, Type::Pred);
  }
  operands(d, type);
  d.finish(handlersOf(type).setp,
           isFloat(type) ? Class::Float : Class::Integer);
  return true;
}

bool decodeSet(Decoder &d) {
  takeTest(d);
  Type to = d.takeType();
  Type type = d.takeType();
  switch (to) {
  case Type::F32:
    d.inst.c = 0x3f800000;
    break;
  case Type::F16:
    d.inst.c = 0x3c00;
    break;
  case Type::BF16:
    d.inst.c = 0x3f80;
    break;
  case Type::F16x2:
    d.inst.c = 0x3c003c00;
    break;
  case Type::BF16x2:
    d.inst.c = 0x3f803f80;
    break;
  default:
    d.inst.c = kAll;
  }
  d.result(d.operand(0), to);
  operands(d, type);
  d.finish(handlersOf(type).set, isFloat(type) ? Class::Float : Class::Integer);
  return true;
}

// What is not chosen may be anything.
void poisonOfChoice(Warp &warp, const Inst &inst, uint32_t first) {
  if (!warp.launch->options.poison)
    return;
  uint32_t a = warp.poison[warp.reg(inst, 1).id];
  uint32_t b = warp.poison[warp.reg(inst, 2).id];
  uint32_t chooser = warp.poison[warp.reg(inst, 3).id];
  uint32_t value = (first & a) | (~first & b) | chooser;
  uint32_t &known = warp.poison[warp.reg(inst, 0).id];
  known = (known & ~warp.mask) | (value & warp.mask);
}

template <class T> void choose(Warp &warp, const Inst &inst, uint32_t first) {
  poisonOfChoice(warp, inst, first);
  const T *a = warp.values<T>(inst, 1), *b = warp.values<T>(inst, 2);
  store(warp, warp.values<T>(inst, 0),
        [=](uint32_t i) { return first >> i & 1 ? a[i] : b[i]; });
}

template <class T> void selp(Warp &warp, const Inst &inst) {
  uint32_t first = warp.predicate(inst, 3);
  choose<T>(warp, inst, inst.a ? ~first : first);
}

void selpPredicates(Warp &warp, const Inst &inst) {
  uint32_t first = warp.predicate(inst, 3);
  first = inst.a ? ~first : first;
  poisonOfChoice(warp, inst, first);
  uint32_t a = warp.predicate(inst, 1), b = warp.predicate(inst, 2);
  setPredicate(warp, warp.predicate(inst, 0), (a & first) | (b & ~first));
}

template <class T, class C> void slct(Warp &warp, const Inst &inst) {
  const C *c = warp.values<C>(inst, 3);
  uint32_t first = 0;
  for (uint32_t i = 0; i < kLanes; ++i) {
    C value = c[i];
    if constexpr (std::is_same_v<C, float>)
      value = flushIf(value, inst.a);
    first |= uint32_t(value >= C(0)) << i;
  }
  choose<T>(warp, inst, first);
}

bool decodeSelection(Decoder &d) {
  bool isSlct = d.is("slct");
  d.inst.a = d.take("ftz");
  Type type = d.takeType();
  Type chooser = isSlct ? d.takeType() : Type::Pred;
  d.result(d.operand(0), type);
  d.source(d.operand(1), type);
  d.source(d.operand(2), type);
  d.source(d.operand(3), chooser);
  d.inst.flags |= kOwnPoison;
  if (!isSlct)
    d.inst.a = d.operand(3).negated;
  Handler handler =
      type == Type::Pred && !isSlct
          ? selpPredicates
          : forUnsigned(type, [&](auto zero) -> Handler {
              using T = decltype(zero);
              if (!isSlct)
                return selp<T>;
              return chooser == Type::F32 ? slct<T, float> : slct<T, int32_t>;
            });
  d.finish(handler, Class::Integer);
  return true;
}

} // namespace

bool decodeCompare(Decoder &d) {
  if (d.is("setp"))
    return decodeSetp(d);
  if (d.is("set"))
    return decodeSet(d);
  if (d.is("selp") || d.is("slct"))
    return decodeSelection(d);
  return false;
}

} // namespace emulator
