// SPDX-License-Identifier: Apache-2.0
#include "Decoder.h"

#include <algorithm>

namespace emulator {
namespace {

struct TypeRow {
  const char *name;
  Type type;
  uint32_t bytes;
};
constexpr TypeRow kTypes[] = {
    {"pred", Type::Pred, 0},     {"b8", Type::B8, 1},
    {"u8", Type::U8, 1},         {"s8", Type::S8, 1},
    {"b16", Type::B16, 2},       {"u16", Type::U16, 2},
    {"s16", Type::S16, 2},       {"f16", Type::F16, 2},
    {"bf16", Type::BF16, 2},     {"b32", Type::B32, 4},
    {"u32", Type::U32, 4},       {"s32", Type::S32, 4},
    {"f32", Type::F32, 4},       {"f16x2", Type::F16x2, 4},
    {"bf16x2", Type::BF16x2, 4}, {"tf32", Type::TF32, 4},
    {"u16x2", Type::U16x2, 4},   {"s16x2", Type::S16x2, 4},
    {"b64", Type::B64, 8},       {"u64", Type::U64, 8},
    {"s64", Type::S64, 8},       {"f64", Type::F64, 8},
    {"b128", Type::B128, 16},    {"e4m3x2", Type::E4M3x2, 2},
    {"e5m2x2", Type::E5M2x2, 2}, {"e4m3", Type::E4M3, 1},
    {"e5m2", Type::E5M2, 1},     {"f32x2", Type::F32x2, 8}};

} // namespace

Type typeNamed(std::string_view name) {
  for (const TypeRow &row : kTypes)
    if (name == row.name)
      return row.type;
  return Type::None;
}

uint32_t bytesOf(Type type) {
  for (const TypeRow &row : kTypes)
    if (type == row.type)
      return row.bytes;
  return 0;
}

bool isFloat(Type type) {
  return type == Type::F16 || type == Type::BF16 || type == Type::F32 ||
         type == Type::F64;
}

bool isSigned(Type type) {
  return type == Type::S8 || type == Type::S16 || type == Type::S32 ||
         type == Type::S64;
}

Decoder::Decoder(Builder &builder, const Statement &statement)
    : builder(builder), statement(statement),
      taken(statement.modifiers.size()) {
  if (!statement.guard.empty()) {
    inst.guarded = true;
    inst.guardNegated = statement.guardNegated;
    inst.guard = builder.regNamed(statement.guard, *this);
    if (inst.guard.width)
      bad("the guard is no predicate");
  }
}

void Decoder::bad(const std::string &what) const {
  builder.bad(statement, what);
}

bool Decoder::take(std::string_view modifier) {
  for (size_t i = 0; i < taken.size(); ++i)
    if (!taken[i] && statement.modifiers[i] == modifier) {
      taken[i] = true;
      return true;
    }
  return false;
}

bool Decoder::has(std::string_view modifier) const {
  return std::find(statement.modifiers.begin(), statement.modifiers.end(),
                   modifier) != statement.modifiers.end();
}

Type Decoder::takeType() {
  for (size_t i = 0; i < taken.size(); ++i) {
    Type type = typeNamed(statement.modifiers[i]);
    if (!taken[i] && type != Type::None) {
      taken[i] = true;
      return type;
    }
  }
  return Type::None;
}

std::string Decoder::next() const {
  for (size_t i = 0; i < taken.size(); ++i)
    if (!taken[i])
      return statement.modifiers[i];
  return "";
}

Rounding Decoder::takeRounding(Rounding otherwise, bool *any) {
  struct Row {
    const char *name;
    Rounding rounding;
  };
  constexpr Row rows[] = {
      {"rn", Rounding::Nearest},     {"rni", Rounding::Nearest},
      {"rz", Rounding::Zero},        {"rzi", Rounding::Zero},
      {"rm", Rounding::Down},        {"rmi", Rounding::Down},
      {"rp", Rounding::Up},          {"rpi", Rounding::Up},
      {"rna", Rounding::NearestAway}};
  for (const Row &row : rows)
    if (take(row.name)) {
      if (any)
        *any = true;
      return row.rounding;
    }
  return otherwise;
}

Space Decoder::takeSpace(Space otherwise) {
  struct Row {
    const char *name;
    Space space;
  };
  constexpr Row rows[] = {
      {"global", Space::Global},
      {"const", Space::Const},
      {"shared", Space::Shared},
      {"shared::cta", Space::Shared},
      {"local", Space::Local},
      {"param", Space::Param},
      {"param::entry", Space::Param},
      {"param::func", Space::Param},
      // A launch without clusters has clusters of one block.
      {"shared::cluster", Space::Shared}};
  for (const Row &row : rows)
    if (take(row.name))
      return row.space;
  return otherwise;
}

void Decoder::ignore(std::initializer_list<std::string_view> modifiers) {
  for (std::string_view modifier : modifiers)
    take(modifier);
}

const Operand &Decoder::operand(size_t i) const {
  if (i >= statement.operands.size())
    bad("it has " + std::to_string(statement.operands.size()) +
        " operands, too few");
  return statement.operands[i];
}

void Decoder::result(const Operand &operand, Type type, bool loose) {
  if (operand.kind == Operand::Sink) {
    results.push_back(builder.make(bytesOf(type)));
    return;
  }
  if (operand.kind != Operand::Name)
    bad("a result is no register");
  Reg reg = builder.regNamed(operand.name, *this);
  bool wide = loose && reg.width > bytesOf(type) && type != Type::Pred;
  if (reg.width != bytesOf(type) && !wide)
    bad("the register '" + operand.name + "' has " +
        std::to_string(reg.width * 8) + " bits, the type has " +
        std::to_string(bytesOf(type) * 8));
  results.push_back(reg);
}

void Decoder::source(const Operand &operand, Type type, bool loose) {
  uint32_t width = bytesOf(type);
  if (operand.kind == Operand::Immediate) {
    uint64_t bits = operand.bits;
    if (operand.number == TokenKind::Float64 && type == Type::F32)
      bits = std::bit_cast<uint32_t>(float(std::bit_cast<double>(bits)));
    else if (operand.number == TokenKind::Float32 && type == Type::F64)
      bits =
          std::bit_cast<uint64_t>(double(std::bit_cast<float>(uint32_t(bits))));
    if (type == Type::Pred)
      bits = bits ? kAll : 0;
    sources.push_back(builder.constant(bits, width));
    return;
  }
  if (operand.kind != Operand::Name)
    bad("an operand is neither a register nor a number");
  Space space = Space::Generic;
  uint64_t address = 0;
  if (builder.variable(operand.name, space, address)) {
    if (width < 4)
      bad("an address has at least 32 bits");
    sources.push_back(
        builder.constant(address + uint64_t(operand.offset), width));
    return;
  }
  Special special = Special::Zero;
  Reg reg =
      builder.isSpecial(operand.name, special) && (width == 2 || width == 8)
          ? builder.special(special, width)
          : builder.regNamed(operand.name, *this);
  bool wide = loose && reg.width > width && width;
  if (reg.width != width && !wide)
    bad("the register '" + operand.name + "' has " +
        std::to_string(reg.width * 8) + " bits, the type has " +
        std::to_string(width * 8));
  sources.push_back(reg);
}

void Decoder::address(const Operand &operand, Space space) {
  if (operand.kind != Operand::Address || !operand.parts.empty())
    bad("expected an address such as [%rd1+8]");
  inst.space = space;
  inst.offset = operand.offset;
  Space found = Space::Generic;
  uint64_t at = 0;
  if (operand.name.empty()) {
    sourceReg(builder.constant(0, 8));
  } else if (builder.variable(operand.name, found, at)) {
    // .param memory of a call is memory of the thread here.
    if (space == Space::Param && found == Space::Local)
      inst.space = Space::Local;
    bool same = inst.space == found ||
                (found == Space::Global && space == Space::Const);
    if (space == Space::Generic) {
      inst.space = found;
    } else if (!same) {
      bad(std::string("'") + operand.name + "' is in " + spaceName(found) +
          " memory");
    }
    sourceReg(builder.constant(at, 8));
  } else {
    Reg reg = builder.regNamed(operand.name, *this);
    if (reg.width != 8 && reg.width != 4)
      bad("an address has 32 or 64 bits");
    sourceReg(reg);
  }
}

uint64_t Decoder::immediate(const Operand &operand) const {
  if (operand.kind != Operand::Immediate)
    bad("expected a number");
  return operand.bits;
}

uint32_t Decoder::capability() const { return builder.capability; }

void Decoder::needs(uint32_t capability) const {
  if (builder.capability < capability)
    bad("it needs sm_" + std::to_string(capability) + ", this device is sm_" +
        std::to_string(builder.capability));
}

void Decoder::finish(Handler handler, Class kind) {
  if (std::string left = next(); !left.empty())
    bad("the emulator does not know the modifier '." + left +
        "' of this instruction");
  if (!handler)
    bad("the emulator does not know this instruction with these types");
  inst.run = handler;
  inst.kind = kind;
}

} // namespace emulator
