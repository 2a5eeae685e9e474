// SPDX-License-Identifier: Apache-2.0
//
// Build.cpp: from a function as written to a kernel: registers and variables
// get their places, calls are inlined, labels become indices.
#include "Decoder.h"

#include <algorithm>

namespace emulator {

namespace handlers {
void jump(Warp &warp, const Inst &inst);
void exit(Warp &warp, const Inst &inst);
} // namespace handlers

namespace {

constexpr uint64_t kMaxInstructions = 1'000'000;
// Limits of CUDA, in bytes.
constexpr uint64_t kMaxParameters = 32764, kMaxLocal = 512 * 1024;
constexpr size_t kMaxCallDepth = 32;

uint64_t alignUp(uint64_t value, uint64_t to) {
  return to ? (value + to - 1) / to * to : value;
}

const std::map<std::string, Special> &specialNames() {
  static const std::map<std::string, Special> names = {
      {"%tid.x", Special::TidX},
      {"%tid.y", Special::TidY},
      {"%tid.z", Special::TidZ},
      {"%ntid.x", Special::NtidX},
      {"%ntid.y", Special::NtidY},
      {"%ntid.z", Special::NtidZ},
      {"%ctaid.x", Special::CtaidX},
      {"%ctaid.y", Special::CtaidY},
      {"%ctaid.z", Special::CtaidZ},
      {"%nctaid.x", Special::NctaidX},
      {"%nctaid.y", Special::NctaidY},
      {"%nctaid.z", Special::NctaidZ},
      {"%laneid", Special::LaneId},
      {"%warpid", Special::WarpId},
      {"%nwarpid", Special::NwarpId},
      {"%lanemask_eq", Special::LaneEq},
      {"%lanemask_le", Special::LaneLe},
      {"%lanemask_lt", Special::LaneLt},
      {"%lanemask_ge", Special::LaneGe},
      {"%lanemask_gt", Special::LaneGt},
      {"%smid", Special::SmId},
      {"%nsmid", Special::NsmId},
      {"%gridid", Special::GridId},
      {"%dynamic_smem_size", Special::DynamicShared},
      {"%total_smem_size", Special::TotalShared},
      // A launch without clusters has clusters of one block.
      {"%cluster_ctaid.x", Special::Zero},
      {"%cluster_ctaid.y", Special::Zero},
      {"%cluster_ctaid.z", Special::Zero},
      {"%cluster_ctarank", Special::Zero},
      {"%cluster_nctaid.x", Special::One},
      {"%cluster_nctaid.y", Special::One},
      {"%cluster_nctaid.z", Special::One},
      {"%cluster_nctarank", Special::One},
      {"%clusterid.x", Special::CtaidX},
      {"%clusterid.y", Special::CtaidY},
      {"%clusterid.z", Special::CtaidZ},
      {"%nclusterid.x", Special::NctaidX},
      {"%nclusterid.y", Special::NctaidY},
      {"%nclusterid.z", Special::NctaidZ}};
  return names;
}

} // namespace

Builder::Builder(const Syntax &syntax,
                 const std::map<std::string, Symbol> &symbols,
                 uint32_t capability)
    : capability(capability), syntax(syntax), symbols(symbols) {}

void Builder::bad(const Statement &statement, const std::string &what) const {
  fail(CUDA_ERROR_INVALID_PTX, "kernel '" + kernel->name + "', line " +
                                   std::to_string(statement.line) + ", '" +
                                   statement.text + "': " + what);
}

std::unique_ptr<Kernel> Builder::run(const Function &function) {
  kernel = std::make_unique<Kernel>();
  kernel->name = function.name;
  if (function.maxThreads)
    kernel->maxThreads = function.maxThreads;
  std::copy_n(function.neededThreads, 3, kernel->neededThreads);
  layoutShared(function);
  parameters(function);
  frames.emplace_back();
  emit(function);
  frames.pop_back();
  kernel->localBytes = alignUp(kernel->localBytes, 16);
  kernel->fileBytes = uint32_t(alignUp(kernel->fileBytes, 64));
  return std::move(kernel);
}

// The functions that a kernel reaches and all names in them.
void Builder::collect(const Function &function, std::set<std::string> &names,
                      std::set<const Function *> &functions) const {
  if (!functions.insert(&function).second)
    return;
  auto visit = [&](auto &&self, const Operand &operand) -> void {
    names.insert(operand.name);
    for (const Operand &part : operand.parts)
      self(self, part);
  };
  for (const Statement &statement : function.body)
    for (const Operand &operand : statement.operands) {
      visit(visit, operand);
      if (statement.opcode != "call")
        continue;
      if (const Function *callee = syntax.find(operand.name))
        collect(*callee, names, functions);
    }
}

// Static variables first, those of .extern share the memory behind them.
void Builder::layoutShared(const Function &function) {
  std::set<std::string> names;
  std::set<const Function *> functions;
  collect(function, names, functions);
  uint64_t end = 0;
  uint32_t widest = 16;
  auto place = [&](const std::string &name, const Variable &variable) {
    if (variable.external)
      return;
    end = alignUp(end, variable.align);
    shared[name] = {Space::Shared, end};
    end += variable.bytes;
  };
  for (const Variable &variable : syntax.variables) {
    if (variable.space != Space::Shared || !names.count(variable.name))
      continue;
    widest = std::max(widest, variable.align);
    place(variable.name, variable);
  }
  for (const Function *part : functions)
    for (const Variable &variable : part->variables)
      if (variable.space == Space::Shared)
        place(part->name + "/" + variable.name, variable);
  end = alignUp(end, widest);
  for (const Variable &variable : syntax.variables)
    if (variable.space == Space::Shared && variable.external)
      shared[variable.name] = {Space::Shared, end};
  kernel->staticShared = end;
}

void Builder::parameters(const Function &function) {
  uint64_t at = 0;
  for (const Variable &parameter : function.parameters) {
    at = alignUp(at, parameter.align);
    kernel->parameters.push_back({parameter.name, at, parameter.bytes});
    at += parameter.bytes;
  }
  kernel->parameterBytes = at;
  if (at > kMaxParameters)
    fail(CUDA_ERROR_INVALID_PTX, "kernel '" + kernel->name + "' has " +
                                     std::to_string(at) +
                                     " bytes of parameters, CUDA allows " +
                                     std::to_string(kMaxParameters));
}

Reg Builder::make(uint32_t width) {
  Reg reg;
  reg.width = width;
  reg.id = kernel->registerCount++;
  uint32_t bytes = width ? width * kLanes : 4;
  kernel->fileBytes = uint32_t(alignUp(kernel->fileBytes, width ? 64 : 4));
  reg.offset = kernel->fileBytes;
  if (kernel->fileBytes > uint32_t(1) << 28)
    fail(CUDA_ERROR_INVALID_PTX, "kernel '" + kernel->name +
                                     "' has more registers than the emulator "
                                     "has room for");
  kernel->fileBytes += bytes;
  return reg;
}

Reg Builder::constant(uint64_t value, uint32_t width) {
  if (width && width < 8)
    value &= (uint64_t(1) << (8 * width)) - 1;
  auto [at, isNew] = constants.try_emplace({value, width});
  if (isNew) {
    at->second = make(width);
    kernel->constants.emplace_back(at->second, value);
  }
  return at->second;
}

Reg Builder::special(Special special, uint32_t width) {
  auto [at, isNew] = specials.try_emplace({special, width});
  if (isNew) {
    at->second = make(width);
    kernel->specials.emplace_back(at->second, special);
  }
  return at->second;
}

bool Builder::isSpecial(const std::string &name, Special &special) const {
  auto found = specialNames().find(name);
  if (found == specialNames().end() || frames.back().registers.count(name))
    return false;
  special = found->second;
  return true;
}

Reg Builder::carry() {
  if (!hasCarry)
    carryReg = make(0);
  hasCarry = true;
  return carryReg;
}

Reg Builder::regNamed(const std::string &name, const Decoder &d) {
  Frame &frame = frames.back();
  if (auto found = frame.registers.find(name); found != frame.registers.end())
    return found->second;
  Special which = Special::Zero;
  if (isSpecial(name, which))
    return special(which, 4);
  // A register of a set: %f12 of %f<20>.
  size_t digits = name.size();
  while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
    --digits;
  auto set = frame.sets.find(name.substr(0, digits));
  if (set != frame.sets.end() && digits < name.size() &&
      name.size() - digits < 9 &&
      std::stoul(name.substr(digits)) < set->second.second) {
    Reg reg = make(bytesOfType(set->second.first));
    frame.registers[name] = reg;
    return reg;
  }
  d.bad("'" + name +
        "' is not declared, or is a special register that the "
        "emulator lacks");
}

bool Builder::variable(const std::string &name, Space &space,
                       uint64_t &address) const {
  const Frame &frame = frames.back();
  auto found = frame.places.find(name);
  if (found == frame.places.end()) {
    found = shared.find(name);
    if (found == shared.end()) {
      auto symbol = symbols.find(name);
      if (symbol == symbols.end())
        return false;
      space = Space::Global;
      address = symbol->second.address;
      return true;
    }
  }
  space = found->second.space;
  address = found->second.address;
  return true;
}

const std::vector<std::string> *
Builder::targets(const std::string &name) const {
  const auto &all = frames.back().function->targets;
  auto found = all.find(name);
  return found == all.end() ? nullptr : &found->second;
}

uint32_t Builder::table(const std::vector<std::string> &labels) {
  uint32_t index = uint32_t(kernel->tables.size());
  kernel->tables.emplace_back(labels.size());
  frames.back().tables.emplace_back(index, labels);
  return index;
}

void Builder::jumpTo(const std::string &label) {
  frames.back().jumps.emplace_back(uint32_t(kernel->code.size()), label);
}

void Builder::declare(const Function &function) {
  Frame &frame = frames.back();
  frame.function = &function;
  for (const RegisterSet &set : function.registers) {
    if (set.count)
      frame.sets[set.name] = {set.type, set.count};
    else
      frame.registers[set.name] = make(bytesOfType(set.type));
  }
  for (const Variable &variable : function.variables) {
    if (variable.space == Space::Shared) {
      auto found = shared.find(function.name + "/" + variable.name);
      if (found != shared.end())
        frame.places[variable.name] = found->second;
      else if (variable.external)
        frame.places[variable.name] = {Space::Shared, kernel->staticShared};
      continue;
    }
    // Also .param variables of calls are memory of the thread.
    kernel->localBytes = alignUp(kernel->localBytes, variable.align);
    frame.places[variable.name] = {Space::Local, kernel->localBytes};
    kernel->localBytes += variable.bytes;
    if (kernel->localBytes > kMaxLocal)
      fail(CUDA_ERROR_INVALID_PTX,
           "kernel '" + kernel->name + "' has more than " +
               std::to_string(kMaxLocal) +
               " bytes of local memory for a thread, the limit of CUDA");
  }
  if (!inlined())
    for (const Parameter &parameter : kernel->parameters)
      frame.places[parameter.name] = {Space::Param, parameter.offset};
}

void Builder::emit(const Function &function) {
  declare(function);
  for (const Statement &statement : function.body) {
    if (kernel->code.size() > kMaxInstructions)
      bad(statement, "the kernel has more than 1,000,000 instructions");
    if (!statement.label.empty())
      frames.back().labels[statement.label] = uint32_t(kernel->code.size());
    else if (statement.opcode == "call")
      call(statement);
    else
      instruction(statement);
  }
  // Falling out of the end is returning.
  if (!inlined()) {
    Statement end;
    end.opcode = "exit";
    end.text = "end of '" + function.name + "'";
    end.line =
        function.body.empty() ? function.line : function.body.back().line;
    instruction(end);
  }
  resolveJumps();
}

void Builder::resolveJumps() {
  Frame &frame = frames.back();
  auto find = [&](const std::string &label, uint32_t text) {
    auto found = frame.labels.find(label);
    if (found == frame.labels.end())
      fail(CUDA_ERROR_INVALID_PTX,
           "kernel '" + kernel->name + "', line " +
               std::to_string(kernel->texts[text].line) + ", '" +
               kernel->texts[text].text + "': the label '" + label +
               "' is not in the function");
    return found->second;
  };
  for (auto &[at, label] : frame.jumps)
    kernel->code[at].target = find(label, kernel->code[at].text);
  for (auto &[index, labels] : frame.tables)
    for (size_t i = 0; i < labels.size(); ++i)
      kernel->tables[index][i] = find(labels[i], kernel->code.back().text);
  for (uint32_t at : frame.returns)
    kernel->code[at].target = uint32_t(kernel->code.size());
}

void Builder::append(Decoder &d) {
  Inst &inst = d.inst;
  inst.first = uint32_t(kernel->registers.size());
  inst.results = uint8_t(d.results.size());
  inst.sources = uint8_t(d.sources.size());
  if (d.results.size() > 255 || d.sources.size() > 255)
    d.bad("it has too many registers");
  kernel->registers.insert(kernel->registers.end(), d.results.begin(),
                           d.results.end());
  kernel->registers.insert(kernel->registers.end(), d.sources.begin(),
                           d.sources.end());
  inst.text = uint32_t(kernel->texts.size());
  kernel->texts.push_back({d.statement.text, d.statement.line});
  if (inst.space == Space::Shared || inst.space == Space::Generic)
    if (inst.kind == Class::Memory || inst.kind == Class::Matrix) {
      uint32_t narrowest = inst.bytes >= 4 ? 2 : inst.bytes == 2 ? 1 : 0;
      if (inst.bytes)
        kernel->granule = std::min(kernel->granule, narrowest);
    }
  kernel->code.push_back(inst);
}

uint32_t Builder::jump(const Statement &statement, bool skip) {
  Decoder d(*this, statement);
  if (skip)
    d.inst.guardNegated = !d.inst.guardNegated;
  d.inst.run = handlers::jump;
  d.inst.kind = Class::Control;
  append(d);
  return uint32_t(kernel->code.size()) - 1;
}

void Builder::instruction(const Statement &statement) {
  bool isReturn = statement.opcode == "ret";
  if (isReturn && inlined()) {
    uint32_t at = jump(statement, false);
    frames.back().returns.push_back(at);
    return;
  }
  Decoder d(*this, statement);
  constexpr bool (*families[])(Decoder &) = {
      decodeInteger, decodeBits,    decodeFloat,   decodeHalf,
      decodeCompare, decodeConvert, decodeMove,    decodeApproximate,
      decodeMemory,  decodeAtomic,  decodeLanes,   decodeControl,
      decodeMatrix,  decodeAsync,   decodeMbarrier};
  for (auto *family : families)
    if (family(d)) {
      append(d);
      return;
    }
  bad(statement,
      "the emulator does not know the instruction '" + statement.opcode + "'");
}

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

std::unique_ptr<Kernel> build(const Syntax &syntax, const Function &function,
                              const std::map<std::string, Symbol> &symbols,
                              uint32_t capability) {
  return Builder(syntax, symbols, capability).run(function);
}

} // namespace emulator
