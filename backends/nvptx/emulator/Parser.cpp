// SPDX-License-Identifier: Apache-2.0
//
// Parser.cpp: a recursive descent over the tokens. Names of a nested scope are
// made unique here ("name#2"), so that nothing behind it knows of scopes.
#include "Error.h"
#include "Syntax.h"

#include <algorithm>
#include <cmath>

namespace emulator {
namespace {

constexpr uint64_t kMaxVariable = uint64_t(4) << 30;

using Scope = std::map<std::string, std::string, std::less<>>;

class Parser {
public:
  explicit Parser(std::string_view source)
      : source(source), tokens(tokenize(source)) {}

  Syntax run() {
    while (token().kind != TokenKind::End)
      topLevel();
    if (!result.version)
      bad("a module starts with .version");
    return std::move(result);
  }

private:
  std::string_view source;
  std::vector<Token> tokens;
  size_t at = 0;
  Syntax result;
  Function *function = nullptr;
  std::vector<Scope> scopes;
  uint32_t scopeCount = 0;
  uint32_t depth = 0;

  const Token &token(size_t ahead = 0) const {
    return tokens[std::min(at + ahead, tokens.size() - 1)];
  }
  [[noreturn]] void bad(const std::string &what) const {
    fail(CUDA_ERROR_INVALID_PTX, "line " + std::to_string(token().line) + ": " +
                                     what + ", found '" +
                                     std::string(token().text) + "'");
  }
  bool take(std::string_view text) {
    if (!token().is(text))
      return false;
    ++at;
    return true;
  }
  void expect(std::string_view text) {
    if (!take(text))
      bad("expected '" + std::string(text) + "'");
  }
  std::string name() {
    if (token().kind != TokenKind::Name)
      bad("expected a name");
    return std::string(tokens[at++].text);
  }
  uint64_t integer() {
    if (token().kind != TokenKind::Integer)
      bad("expected a number");
    return tokens[at++].bits;
  }
  void skipLine() {
    uint32_t line = token().line;
    while (token().kind != TokenKind::End && token().line == line)
      ++at;
  }
  void skipTo(std::string_view end) {
    while (!token().is(end) && token().kind != TokenKind::End)
      ++at;
    expect(end);
  }
  void skipBraces() {
    skipTo("{");
    for (int depth = 1; depth; ++at) {
      if (token().kind == TokenKind::End)
        bad("expected '}'");
      depth += token().is("{") ? 1 : token().is("}") ? -1 : 0;
    }
  }

  // Directives without effect; true when one was there.
  bool skipDirective() {
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

  void topLevel() {
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

  void declaration() {
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

  // The type and what stands before it: attributes, alignment, vectors.
  Variable variableType(Space space) {
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
  Variable declarator(const Variable &type, bool external) {
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

  uint64_t multiplied(uint64_t bytes, uint64_t count) const {
    if (count && bytes > kMaxVariable / count)
      bad("a variable has more than 4 GiB");
    return bytes * count;
  }

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

  void initializer(Variable &variable, uint32_t bytes, bool open) {
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

  void initialValue(Variable &variable, uint32_t bytes) {
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

  void addressValue(Variable &variable, uint32_t bytes) {
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

  void variables(Space space, bool external, std::vector<Variable> &into) {
    Variable type = variableType(space);
    do
      into.push_back(declarator(type, external));
    while (take(","));
    expect(";");
  }

  void parseFunction() {
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

  void addFunction(std::unique_ptr<Function> made) {
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

  std::vector<Variable> parameters() {
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

  void threadCounts(uint32_t *counts) {
    for (int i = 0; i < 3; ++i) {
      counts[i] = i == 0 || take(",") ? uint32_t(integer()) : 1;
    }
  }

  void functionDirectives() {
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

  // A name that a nested scope declares is another one than those outside.
  std::string declare(const std::string &written) {
    if (scopes.size() < 2)
      return written;
    std::string made = written + "#" + std::to_string(scopeCount);
    scopes.back()[written] = made;
    return made;
  }
  std::string resolve(const std::string &written) const {
    for (size_t i = scopes.size(); i-- > 1;)
      if (auto found = scopes[i].find(written); found != scopes[i].end())
        return found->second;
    return written;
  }

  void openScope() {
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

  void body() {
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

  void registers() {
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

  void label() {
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

  void statement() {
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

  static void splitOpcode(const std::string &text, Statement &statement) {
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

  Operand operand() {
    Nested nested(*this);
    Operand made;
    if (take("["))
      return address();
    if (take("{")) {
      made.kind = Operand::Vector;
      return listOf(std::move(made), "}");
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

  Operand listOf(Operand made, std::string_view end) {
    while (!take(end)) {
      made.parts.push_back(operand());
      take(",");
    }
    return made;
  }

  Operand namedOperand(Operand made) {
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

  int64_t signedInteger() {
    bool minus = take("-");
    int64_t value = int64_t(integer());
    return minus ? -value : value;
  }

  Operand immediate(Operand made, bool minus) {
    const Token &number = token();
    if (number.kind != TokenKind::Integer &&
        number.kind != TokenKind::Float32 && number.kind != TokenKind::Float64)
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

  Operand address() {
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
};

} // namespace

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
