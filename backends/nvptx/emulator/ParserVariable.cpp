// SPDX-License-Identifier: Apache-2.0
//
// ParserVariable.cpp: declarations of variables and their initial values.
#include "Parser.h"

#include <algorithm>

namespace emulator {
namespace {

constexpr uint64_t kMaxVariable = uint64_t(4) << 30;

} // namespace

// The type and what stands before it: attributes, alignment, vectors.
Variable Parser::variableType(Space space) {
  Variable variable;
  variable.space = space;
  uint32_t count = 1;
  while (token().kind == TokenKind::Name && token().text[0] == '.') {
    if (take(".align")) {
      variable.align = uint32_t(integer());
    } else if (take(".ptr")) {
      if (token().is(".global") || token().is(".const") ||
          token().is(".shared") || token().is(".local"))
        ++at;
      // The alignment behind .ptr is that of what it points to.
      if (take(".align"))
        integer();
    } else if (take(".attribute")) {
      skipTo(")");
    } else if (take(".v2")) {
      count = 2;
    } else if (take(".v4")) {
      count = 4;
    } else {
      variable.type = name().substr(1);
    }
  }
  uint32_t bytes = bytesOfType(variable.type);
  if (!bytes && variable.type != "pred")
    bad("expected a type, not '" + variable.type + "'");
  variable.bytes = uint64_t(bytes) * count;
  variable.align = std::max(variable.align, bytes * count);
  return variable;
}

// Everything behind the type of one declared variable.
Variable Parser::declarator(const Variable &type, bool external) {
  Variable variable = type;
  variable.name = declare(name());
  variable.external = external;
  bool open = false;
  while (take("[")) {
    if (take("]")) {
      open = true;
      continue;
    }
    variable.bytes = multiplied(variable.bytes, integer());
    expect("]");
  }
  if (open && !external && !token().is("="))
    variable.bytes = 0;
  if (open && external)
    variable.bytes = 0;
  if (take("="))
    initializer(variable, bytesOfType(type.type), open);
  return variable;
}

uint64_t Parser::multiplied(uint64_t bytes, uint64_t count) const {
  if (count && bytes > kMaxVariable / count)
    bad("a variable has more than 4 GiB");
  return bytes * count;
}

void Parser::initializer(Variable &variable, uint32_t bytes, bool open) {
  Nested nested(*this);
  std::vector<uint8_t> &data = variable.data;
  if (take("{")) {
    while (!take("}")) {
      if (token().is("{")) {
        initializer(variable, bytes, true);
      } else {
        initialValue(variable, bytes);
      }
      take(",");
    }
  } else {
    initialValue(variable, bytes);
  }
  if (open)
    variable.bytes = std::max<uint64_t>(variable.bytes, data.size());
  if (data.size() > variable.bytes)
    bad("'" + variable.name + "' has more initial values than bytes");
}

void Parser::initialValue(Variable &variable, uint32_t bytes) {
  std::vector<uint8_t> &data = variable.data;
  uint64_t bits = 0;
  bool negative = take("-");
  // 0xFF(name) is a byte of an address, generic(name) is a generic one.
  uint32_t shift = 0;
  if (token().kind == TokenKind::Integer && token(1).is("(")) {
    for (uint64_t mask = integer(); mask && !(mask & 1); mask >>= 1)
      ++shift;
    expect("(");
    addressValue(variable, bytes);
    variable.addresses.back().addend |= int64_t(shift) << 56;
    expect(")");
  } else if (token().kind == TokenKind::Name) {
    addressValue(variable, bytes);
  } else {
    bits = tokens[at++].bits;
    if (tokens[at - 1].kind == TokenKind::Float64 && bytes == 4)
      bad("expected a number of 4 bytes");
  }
  bits = negative ? 0 - bits : bits;
  for (uint32_t i = 0; i < bytes; ++i)
    data.push_back(uint8_t(i < 8 ? bits >> (8 * i) : 0));
}

void Parser::addressValue(Variable &variable, uint32_t bytes) {
  bool generic = token().is("generic") && token(1).is("(");
  if (generic)
    at += 2;
  Variable::Address address{variable.data.size(), bytes, name(), 0};
  if (take("+"))
    address.addend = int64_t(integer());
  variable.addresses.push_back(address);
  if (generic)
    expect(")");
}

void Parser::variables(Space space, bool external,
                       std::vector<Variable> &into) {
  Variable type = variableType(space);
  do
    into.push_back(declarator(type, external));
  while (take(","));
  expect(";");
}

} // namespace emulator
