// SPDX-License-Identifier: Apache-2.0
//
// ParserBody.cpp: the body of a function: scopes, registers, labels,
// instructions and their operands.
#include "Parser.h"

#include <algorithm>

namespace emulator {

// A name that a nested scope declares is another one than those outside.
std::string Parser::declare(const std::string &written) {
  if (scopes.size() < 2)
    return written;
  std::string made = written + "#" + std::to_string(scopeCount);
  scopes.back()[written] = made;
  return made;
}

std::string Parser::resolve(const std::string &written) const {
  for (size_t i = scopes.size(); i-- > 1;)
    if (auto found = scopes[i].find(written); found != scopes[i].end())
      return found->second;
  return written;
}

void Parser::openScope() {
  if (scopes.size() > 64)
    bad("scopes are nested more than 64 deep");
  scopes.emplace_back();
  ++scopeCount;
  int depth = 0;
  for (size_t i = at; i + 1 < tokens.size() && depth >= 0; ++i) {
    depth += tokens[i].is("{") ? 1 : tokens[i].is("}") ? -1 : 0;
    if (depth == 0 && tokens[i].kind == TokenKind::Name &&
        tokens[i + 1].is(":"))
      declare(std::string(tokens[i].text));
  }
}

void Parser::body() {
  for (;;) {
    if (skipDirective())
      continue;
    if (take("{")) {
      openScope();
    } else if (take("}")) {
      scopes.pop_back();
      if (scopes.empty())
        return;
    } else if (take(".reg")) {
      registers();
    } else if (take(".local")) {
      variables(Space::Local, false, function->variables);
    } else if (take(".shared")) {
      variables(Space::Shared, false, function->variables);
    } else if (take(".param")) {
      variables(Space::Param, false, function->variables);
    } else if (token().kind == TokenKind::Name && token(1).is(":")) {
      label();
    } else if (token().kind == TokenKind::End) {
      bad("expected '}'");
    } else {
      statement();
    }
  }
}

void Parser::registers() {
  std::string type;
  while (token().text.starts_with("."))
    type = name().substr(1);
  if (!bytesOfType(type) && type != "pred")
    bad("expected the type of a register, not '" + type + "'");
  do {
    std::string written = name();
    uint32_t count = 0;
    if (take("<")) {
      count = uint32_t(integer());
      expect(">");
    }
    if (count > 1000000)
      bad("a set of registers has more than a million");
    if (!count || scopes.size() < 2) {
      function->registers.push_back(
          {count ? written : declare(written), type, count});
    } else {
      for (uint32_t i = 0; i < count; ++i)
        function->registers.push_back(
            {declare(written + std::to_string(i)), type, 0});
    }
  } while (take(","));
  expect(";");
}

void Parser::label() {
  std::string written = name();
  expect(":");
  if (take(".branchtargets")) {
    std::vector<std::string> &list = function->targets[resolve(written)];
    do
      list.push_back(resolve(name()));
    while (take(","));
    expect(";");
    return;
  }
  if (token().is(".callprototype") || token().is(".calltargets"))
    bad("indirect calls are not supported");
  Statement statement;
  statement.label = resolve(written);
  statement.line = token().line;
  function->body.push_back(std::move(statement));
}

void Parser::statement() {
  Statement statement;
  statement.line = token().line;
  const char *from = token().text.data();
  if (take("@")) {
    statement.guardNegated = take("!");
    statement.guard = resolve(name());
  }
  splitOpcode(name(), statement);
  if (!token().is(";")) {
    do
      statement.operands.push_back(operand());
    while (take(","));
  }
  const char *end = token().text.data() + 1;
  expect(";");
  statement.text.assign(from, end);
  std::replace(statement.text.begin(), statement.text.end(), '\n', ' ');
  std::replace(statement.text.begin(), statement.text.end(), '\t', ' ');
  function->body.push_back(std::move(statement));
}

void Parser::splitOpcode(const std::string &text, Statement &statement) {
  size_t from = 0;
  bool first = true;
  while (from <= text.size()) {
    size_t dot = std::min(text.find('.', from), text.size());
    std::string part = text.substr(from, dot - from);
    if (first)
      statement.opcode = part;
    else
      statement.modifiers.push_back(part);
    first = false;
    from = dot + 1;
  }
}

Operand Parser::operand() {
  Nested nested(*this);
  Operand made;
  if (take("["))
    return address();
  if (take("{")) {
    made.kind = Operand::Vector;
    made = listOf(std::move(made), "}");
    // One in braces is the same without.
    return made.parts.size() == 1 ? Operand(made.parts[0]) : made;
  }
  if (take("(")) {
    made.kind = Operand::List;
    return listOf(std::move(made), ")");
  }
  made.negated = take("!");
  bool minus = !made.negated && take("-");
  if (token().kind == TokenKind::Name && !minus)
    return namedOperand(std::move(made));
  return immediate(std::move(made), minus);
}

Operand Parser::listOf(Operand made, std::string_view end) {
  while (!take(end)) {
    made.parts.push_back(operand());
    take(",");
  }
  return made;
}

Operand Parser::namedOperand(Operand made) {
  made.name = resolve(name());
  if (made.name == "_") {
    made.kind = Operand::Sink;
  } else if (made.name == "WARP_SZ") {
    made.kind = Operand::Immediate;
    made.bits = 32;
  } else if (take("+")) {
    made.offset = signedInteger();
  } else if (take("|")) {
    Operand pair;
    pair.kind = Operand::Pair;
    pair.parts = {made, operand()};
    return pair;
  }
  return made;
}

int64_t Parser::signedInteger() {
  bool minus = take("-");
  int64_t value = int64_t(integer());
  return minus ? -value : value;
}

Operand Parser::immediate(Operand made, bool minus) {
  const Token &number = token();
  if (number.kind != TokenKind::Integer && number.kind != TokenKind::Float32 &&
      number.kind != TokenKind::Float64)
    bad("expected an operand");
  made.kind = Operand::Immediate;
  made.number = number.kind;
  made.bits = number.bits;
  ++at;
  if (minus && made.number == TokenKind::Integer)
    made.bits = 0 - made.bits;
  else if (minus)
    made.bits ^= made.number == TokenKind::Float32 ? uint64_t(1) << 31
                                                   : uint64_t(1) << 63;
  return made;
}

Operand Parser::address() {
  Operand made;
  made.kind = Operand::Address;
  if (token().kind == TokenKind::Integer)
    made.offset = int64_t(integer());
  else
    made.name = resolve(name());
  if (take("+"))
    made.offset += signedInteger();
  else if (take("-"))
    made.offset -= int64_t(integer());
  while (take(","))
    made.parts.push_back(operand());
  expect("]");
  return made;
}

} // namespace emulator
