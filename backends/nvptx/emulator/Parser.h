// SPDX-License-Identifier: Apache-2.0
//
// Parser.h: PTX text to a Syntax. Names of a nested scope are made unique here
// ("name#2"), so that nothing behind it knows of scopes.
#pragma once

#include "Error.h"
#include "Syntax.h"

#include <algorithm>

namespace emulator {

class Parser {
public:
  explicit Parser(std::string_view source) : tokens(tokenize(source)) {}
  // Throws Error, which names the line.
  Syntax run();

private:
  using Scope = std::map<std::string, std::string, std::less<>>;
  std::vector<Token> tokens;
  size_t at = 0;
  Syntax result;
  Function *function = nullptr;
  std::vector<Scope> scopes;
  uint32_t scopeCount = 0;
  uint32_t depth = 0;

  // Vectors and lists hold each other a few times at most.
  class Nested {
  public:
    explicit Nested(Parser &parser) : parser(parser) {
      if (++parser.depth > 8)
        parser.bad("braces are nested more than 8 deep");
    }
    ~Nested() { --parser.depth; }
    Nested(const Nested &) = delete;
    Nested &operator=(const Nested &) = delete;

  private:
    Parser &parser;
  };

  const Token &token(size_t ahead = 0) const {
    return tokens[std::min(at + ahead, tokens.size() - 1)];
  }
  bool take(std::string_view text) {
    if (!token().is(text))
      return false;
    ++at;
    return true;
  }

  [[noreturn]] void bad(const std::string &what) const;
  void expect(std::string_view text);
  std::string name();
  uint64_t integer();
  void skipLine();
  void skipTo(std::string_view end);
  void skipBraces();
  // Directives without effect; true when one was there.
  bool skipDirective();
  void topLevel();
  void declaration();
  void parseFunction();
  void addFunction(std::unique_ptr<Function> made);
  std::vector<Variable> parameters();
  void threadCounts(uint32_t *counts);
  void functionDirectives();

  // ParserVariable.cpp
  // The type and what stands before it: attributes, alignment, vectors.
  Variable variableType(Space space);
  // Everything behind the type of one declared variable.
  Variable declarator(const Variable &type, bool external);
  uint64_t multiplied(uint64_t bytes, uint64_t count) const;
  void initializer(Variable &variable, uint32_t bytes, bool open);
  void initialValue(Variable &variable, uint32_t bytes);
  void addressValue(Variable &variable, uint32_t bytes);
  void variables(Space space, bool external, std::vector<Variable> &into);

  // ParserBody.cpp
  // A name that a nested scope declares is another one than those outside.
  std::string declare(const std::string &written);
  std::string resolve(const std::string &written) const;
  void openScope();
  void body();
  void registers();
  void label();
  void statement();
  static void splitOpcode(const std::string &text, Statement &statement);
  Operand operand();
  Operand listOf(Operand made, std::string_view end);
  Operand namedOperand(Operand made);
  int64_t signedInteger();
  Operand immediate(Operand made, bool minus);
  Operand address();
};

} // namespace emulator
