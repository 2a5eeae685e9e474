// SPDX-License-Identifier: Apache-2.0
//
// Syntax.h: a PTX module as written, before names are resolved.
#pragma once

#include "Lexer.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace emulator {

enum class Space : uint8_t {
  Generic,
  Global,
  Const,
  Shared,
  Local,
  Param,
  Reg
};

// The name of a space in messages.
const char *spaceName(Space space);

// An operand as written. `name` is a register, variable, label or special
// register; an address or an immediate adds `offset`.
struct Operand {
  enum Kind { Name, Immediate, Address, Vector, List, Pair, Sink } kind = Name;
  std::string name;
  bool negated = false; // !p
  TokenKind number = TokenKind::Integer;
  uint64_t bits = 0; // of an immediate
  int64_t offset = 0;
  std::vector<Operand> parts; // of a vector, a list or a pair p|q
};

struct Statement {
  std::string label; // when not empty, this is a label and nothing else
  std::string guard;
  bool guardNegated = false;
  std::string opcode;
  std::vector<std::string> modifiers;
  std::vector<Operand> operands;
  std::string text;
  uint32_t line = 0;
};

struct Variable {
  Space space = Space::Reg;
  std::string name;
  std::string type; // "f32", "b8", "pred"
  uint64_t bytes = 0;
  uint32_t align = 1;
  bool external = false; // .extern: of shared memory, its dynamic part
  std::vector<uint8_t> data;
  // Addresses that the data has, to fill in: byte, size, name, addend.
  struct Address {
    uint64_t at;
    uint32_t size;
    std::string name;
    int64_t addend;
  };
  std::vector<Address> addresses;
};

// `.reg .f32 %f<5>` declares %f0 to %f4: one entry with a count.
struct RegisterSet {
  std::string name;
  std::string type;
  uint32_t count = 0; // 0: the name itself
};

struct Function {
  std::string name;
  bool entry = false;
  bool defined = false;
  std::vector<Variable> results;
  std::vector<Variable> parameters;
  std::vector<RegisterSet> registers;
  std::vector<Variable> variables; // shared, local and .param ones inside
  std::vector<Statement> body;
  std::map<std::string, std::vector<std::string>> targets; // .branchtargets
  uint32_t maxThreads = 0;               // .maxntid, 0: not said
  uint32_t neededThreads[3] = {0, 0, 0}; // .reqntid
  uint32_t line = 0;
};

struct Syntax {
  uint32_t version = 0; // 9.0 is 90
  std::string target;   // "sm_90a"
  std::vector<Variable> variables;
  std::vector<std::unique_ptr<Function>> functions;

  const Function *find(const std::string &name) const;
};

// Parses a module. Throws Error, which names the line.
Syntax parse(std::string_view source);

// Bytes of a value of a type such as "f32"; 0 for what is none.
uint32_t bytesOfType(std::string_view type);

} // namespace emulator
