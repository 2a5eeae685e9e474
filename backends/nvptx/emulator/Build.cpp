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
  markProducts();
  kernel->localBytes = alignUp(kernel->localBytes, 16);
  kernel->fileBytes = uint32_t(alignUp(kernel->fileBytes, 64));
  return std::move(kernel);
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
  kernel->readsAsync |= inst.flags & kReadsAsync;
  kernel->code.push_back(inst);
}

// Finds the registers of products of wgmma and who else uses them. Those of
// descriptors and predicates are read at once.
void Builder::markProducts() {
  auto registers = [&](Inst &inst, auto visit) {
    for (uint32_t i = 0; i < uint32_t(inst.results) + inst.sources; ++i)
      visit(kernel->registers[inst.first + i]);
  };
  for (Inst &inst : kernel->code)
    if (inst.flags & kProduct) {
      kernel->productRegisters.resize(kernel->registerCount);
      registers(inst, [&](const Reg &reg) {
        kernel->productRegisters[reg.id] |= reg.width == 4;
      });
    }
  if (kernel->productRegisters.empty())
    return;
  for (Inst &inst : kernel->code)
    if (!(inst.flags & kProduct))
      registers(inst, [&](const Reg &reg) {
        if (kernel->productRegisters[reg.id])
          inst.flags |= kTouchesProduct;
      });
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

std::unique_ptr<Kernel> build(const Syntax &syntax, const Function &function,
                              const std::map<std::string, Symbol> &symbols,
                              uint32_t capability) {
  return Builder(syntax, symbols, capability).run(function);
}

} // namespace emulator
