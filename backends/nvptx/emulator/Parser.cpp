// SPDX-License-Identifier: Apache-2.0
//
// Parser.cpp: a recursive descent over the tokens: the module, its functions
// and their directives.
#include "Parser.h"

#include <cmath>

namespace emulator {

Syntax Parser::run() {
  while (token().kind != TokenKind::End)
    topLevel();
  if (!result.version)
    bad("a module starts with .version");
  return std::move(result);
}

void Parser::bad(const std::string &what) const {
  fail(CUDA_ERROR_INVALID_PTX, "line " + std::to_string(token().line) + ": " +
                                   what + ", found '" +
                                   std::string(token().text) + "'");
}

void Parser::expect(std::string_view text) {
  if (!take(text))
    bad("expected '" + std::string(text) + "'");
}

std::string Parser::name() {
  if (token().kind != TokenKind::Name)
    bad("expected a name");
  return std::string(tokens[at++].text);
}

uint64_t Parser::integer() {
  if (token().kind != TokenKind::Integer)
    bad("expected a number");
  return tokens[at++].bits;
}

void Parser::skipLine() {
  uint32_t line = token().line;
  while (token().kind != TokenKind::End && token().line == line)
    ++at;
}

void Parser::skipTo(std::string_view end) {
  while (!token().is(end) && token().kind != TokenKind::End)
    ++at;
  expect(end);
}

void Parser::skipBraces() {
  skipTo("{");
  for (int depth = 1; depth; ++at) {
    if (token().kind == TokenKind::End)
      bad("expected '}'");
    depth += token().is("{") ? 1 : token().is("}") ? -1 : 0;
  }
}

// Directives without effect; true when one was there.
bool Parser::skipDirective() {
  if (token().is(".loc") || token().is(".file")) {
    skipLine();
  } else if (token().is(".section")) {
    skipBraces();
  } else if (token().is(".pragma") || token().is(".alias")) {
    if (token().is(".alias"))
      bad("aliases of functions are not supported");
    skipTo(";");
  } else {
    return false;
  }
  return true;
}

void Parser::topLevel() {
  if (skipDirective())
    return;
  if (take(".version")) {
    double number = 0;
    if (token().kind == TokenKind::Float64)
      number = std::stod(std::string(token().text));
    else
      bad("expected a version such as 8.0");
    ++at;
    if (!(number < 100))
      bad("a version is below 100");
    result.version = uint32_t(std::lround(number * 10));
  } else if (take(".target")) {
    result.target = name();
    while (take(","))
      name();
  } else if (take(".address_size")) {
    if (integer() != 64)
      bad("only .address_size 64 is supported");
  } else {
    declaration();
  }
}

void Parser::declaration() {
  bool external = false;
  while (token().is(".visible") || token().is(".extern") ||
         token().is(".weak") || token().is(".common"))
    external |= tokens[at++].is(".extern");
  if (token().is(".entry") || token().is(".func"))
    return parseFunction();
  for (auto [text, space] : {std::pair{".global", Space::Global},
                             {".const", Space::Const},
                             {".shared", Space::Shared}})
    if (take(text))
      return variables(space, external, result.variables);
  bad("expected a declaration");
}

void Parser::parseFunction() {
  auto made = std::make_unique<Function>();
  function = made.get();
  function->entry = tokens[at++].is(".entry");
  function->line = token().line;
  scopes.clear();
  if (token().is("("))
    function->results = parameters();
  function->name = name();
  if (token().is("("))
    function->parameters = parameters();
  functionDirectives();
  if (take(";")) {
    function->defined = false;
  } else {
    expect("{");
    function->defined = true;
    scopes.emplace_back();
    body();
  }
  addFunction(std::move(made));
}

void Parser::addFunction(std::unique_ptr<Function> made) {
  for (auto &known : result.functions)
    if (known->name == made->name) {
      if (known->defined && made->defined)
        bad("'" + made->name + "' is defined twice");
      if (made->defined)
        known = std::move(made);
      return;
    }
  result.functions.push_back(std::move(made));
}

std::vector<Variable> Parser::parameters() {
  std::vector<Variable> list;
  expect("(");
  while (!take(")")) {
    Space space = token().is(".reg") ? Space::Reg : Space::Param;
    ++at;
    Variable type = variableType(space);
    list.push_back(declarator(type, false));
    take(",");
  }
  return list;
}

void Parser::threadCounts(uint32_t *counts) {
  for (int i = 0; i < 3; ++i) {
    counts[i] = i == 0 || take(",") ? uint32_t(integer()) : 1;
  }
}

void Parser::functionDirectives() {
  for (;;) {
    uint32_t counts[3];
    if (take(".maxntid")) {
      threadCounts(counts);
      function->maxThreads = counts[0] * counts[1] * counts[2];
    } else if (take(".reqntid")) {
      threadCounts(function->neededThreads);
    } else if (take(".minnctapersm") || take(".maxnreg") ||
               take(".maxclusterrank") || take(".minreg")) {
      integer();
    } else if (take(".noreturn") || take(".unique")) {
    } else if (token().is(".pragma")) {
      skipDirective();
    } else if (token().is(".reqnctapercluster") ||
               token().is(".explicitcluster")) {
      bad("clusters of blocks are not supported");
    } else {
      return;
    }
  }
}

const Function *Syntax::find(const std::string &name) const {
  for (const auto &function : functions)
    if (function->name == name)
      return function.get();
  return nullptr;
}

const char *spaceName(Space space) {
  constexpr const char *names[] = {"generic", "global", "constant", "shared",
                                   "local",   "param",  "register"};
  return names[size_t(space)];
}

uint32_t bytesOfType(std::string_view type) {
  struct Row {
    const char *name;
    uint32_t bytes;
  };
  constexpr Row rows[] = {
      {"b8", 1},     {"u8", 1},     {"s8", 1},     {"e4m3", 1},  {"e5m2", 1},
      {"b16", 2},    {"u16", 2},    {"s16", 2},    {"f16", 2},   {"bf16", 2},
      {"e4m3x2", 2}, {"e5m2x2", 2}, {"b32", 4},    {"u32", 4},   {"s32", 4},
      {"f32", 4},    {"f16x2", 4},  {"bf16x2", 4}, {"tf32", 4},  {"b64", 8},
      {"u64", 8},    {"s64", 8},    {"f64", 8},    {"f32x2", 8}, {"b128", 16}};
  for (const Row &row : rows)
    if (type == row.name)
      return row.bytes;
  return 0;
}

Syntax parse(std::string_view source) { return Parser(source).run(); }

} // namespace emulator
