// SPDX-License-Identifier: Apache-2.0
//
// BuildCall.cpp: calls, which are inlined.
#include "Decoder.h"

namespace emulator {
namespace {

constexpr size_t kMaxCallDepth = 32;

} // namespace

// call{.uni} (results), function, (arguments); with or without the lists.
void Builder::call(const Statement &statement) {
  const auto &operands = statement.operands;
  size_t at = 0;
  std::vector<Operand> results, arguments;
  if (at < operands.size() && operands[at].kind == Operand::List)
    results = operands[at++].parts;
  if (at >= operands.size() || operands[at].kind != Operand::Name)
    bad(statement, "expected the name of a function");
  const Function *callee = syntax.find(operands[at].name);
  if (!callee || !callee->defined)
    bad(statement, "the function '" + operands[at].name +
                       "' is not in the module; indirect calls and calls of "
                       "the CUDA runtime are not supported");
  ++at;
  if (at < operands.size() && operands[at].kind == Operand::List)
    arguments = operands[at].parts;
  if (frames.size() >= kMaxCallDepth)
    bad(statement, "calls are nested more than 32 deep; recursion is not "
                   "supported");
  if (results.size() != callee->results.size() ||
      arguments.size() != callee->parameters.size())
    bad(statement, "the function has another number of parameters");
  callWith(statement, *callee, results, arguments);
}

void Builder::callWith(const Statement &statement, const Function &callee,
                       const std::vector<Operand> &results,
                       const std::vector<Operand> &arguments) {
  uint32_t skip = 0;
  if (!statement.guard.empty())
    skip = jump(statement, true);
  Frame frame;
  auto bind = [&](const Variable &formal, const Operand &actual) {
    Space space = Space::Local;
    uint64_t address = 0;
    if (actual.kind == Operand::Name && variable(actual.name, space, address)) {
      frame.places[formal.name] = {space, address};
      return;
    }
    Decoder d(*this, statement);
    if (formal.space != Space::Reg)
      d.bad("an argument of the call is no .param variable");
    if (actual.kind == Operand::Immediate)
      frame.registers[formal.name] =
          constant(actual.bits, bytesOfType(formal.type));
    else
      frame.registers[formal.name] = regNamed(actual.name, d);
  };
  for (size_t i = 0; i < results.size(); ++i)
    bind(callee.results[i], results[i]);
  for (size_t i = 0; i < arguments.size(); ++i)
    bind(callee.parameters[i], arguments[i]);
  frames.push_back(std::move(frame));
  emit(callee);
  frames.pop_back();
  if (!statement.guard.empty())
    kernel->code[skip].target = uint32_t(kernel->code.size());
}

} // namespace emulator
