// SPDX-License-Identifier: Apache-2.0
//
// BuildPlaces.cpp: where the registers, variables and parameters of a kernel
// are.
#include "Decoder.h"

#include <algorithm>

namespace emulator {
namespace {

// Limits of CUDA, in bytes.
constexpr uint64_t kMaxParameters = 32764, kMaxLocal = 512 * 1024;

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

} // namespace emulator
