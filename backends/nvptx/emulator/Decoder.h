// SPDX-License-Identifier: Apache-2.0
//
// Decoder.h: one instruction on its way from text to an Inst. Each family of
// instructions has a function that takes the modifiers and operands that it
// knows; what is left over is an error, so that nothing is ignored.
#pragma once

#include "Error.h"
#include "Machine.h"

#include "Types.h"

#include <set>

namespace emulator {

enum class Type : uint8_t {
  None,
  Pred,
  B8,
  U8,
  S8,
  B16,
  U16,
  S16,
  F16,
  BF16,
  B32,
  U32,
  S32,
  F32,
  F16x2,
  BF16x2,
  TF32,
  U16x2,
  S16x2,
  B64,
  U64,
  S64,
  F64,
  B128,
  E4M3x2,
  E5M2x2,
  E4M3,
  E5M2,
  F32x2,
};
Type typeNamed(std::string_view name);
uint32_t bytesOf(Type type);
bool isFloat(Type type);
bool isSigned(Type type);

inline uint64_t alignUp(uint64_t value, uint64_t to) {
  return to ? (value + to - 1) / to * to : value;
}

class Builder;

class Decoder {
public:
  Decoder(Builder &builder, const Statement &statement);

  Builder &builder;
  const Statement &statement;
  Inst inst;
  std::vector<Reg> results, sources;

  bool is(std::string_view opcode) const { return statement.opcode == opcode; }
  // Takes a modifier, wherever it stands.
  bool take(std::string_view modifier);
  bool has(std::string_view modifier) const;
  // The next modifier that is a type; None when there is none.
  Type takeType();
  // The next modifier from the left that nobody took, or "".
  std::string next() const;
  // .rn, .rz, .rm, .rp and their integer forms; `otherwise` when none is there.
  Rounding takeRounding(Rounding otherwise, bool *any = nullptr);
  Space takeSpace(Space otherwise);
  // Modifiers that change nothing here.
  void ignore(std::initializer_list<std::string_view> modifiers);

  size_t count() const { return statement.operands.size(); }
  const Operand &operand(size_t i) const;
  // The registers of operands. Widths are those of the type, in bytes of a
  // lane; memory and conversions also take wider registers (`loose`).
  void result(const Operand &operand, Type type, bool loose = false);
  void source(const Operand &operand, Type type, bool loose = false);
  // A result that is the first source as well, or the like.
  void resultReg(const Reg &reg) { results.push_back(reg); }
  void sourceReg(const Reg &reg) { sources.push_back(reg); }
  // [register + offset] as a 64-bit or 32-bit source; sets inst.offset.
  void address(const Operand &operand, Space space);
  uint64_t immediate(const Operand &operand) const;
  uint32_t capability() const;
  // Fails when the device is older.
  void needs(uint32_t capability) const;

  [[noreturn]] void bad(const std::string &what) const;
  // Sets the handler of `F`, and nothing must be left over.
  void finish(Handler handler, Class kind);

private:
  std::vector<bool> taken;
};

// Each returns false when the instruction is of another family.
bool decodeInteger(Decoder &d);
bool decodeBits(Decoder &d);
// bfe, bfi, bmsk, szext, fns: a part of the family of bits.
bool decodeBitFields(Decoder &d);
bool decodeFloat(Decoder &d);
bool decodeHalf(Decoder &d);
bool decodeApproximate(Decoder &d);
bool decodeCompare(Decoder &d);
bool decodeConvert(Decoder &d);
bool decodeMove(Decoder &d);
bool decodeMemory(Decoder &d);
bool decodeAtomic(Decoder &d);
bool decodeLanes(Decoder &d);
bool decodeControl(Decoder &d);
bool decodeMatrix(Decoder &d);
bool decodeAsync(Decoder &d);
bool decodeMbarrier(Decoder &d);
// cp.async.bulk.tensor, a part of the family of mbarrier.
bool decodeTensorCopy(Decoder &d);

// Resolves the names of one kernel.
class Builder {
public:
  Builder(const Syntax &syntax, const std::map<std::string, Symbol> &symbols,
          uint32_t capability);
  std::unique_ptr<Kernel> run(const Function &function);

  Reg regNamed(const std::string &name, const Decoder &d);
  Reg constant(uint64_t value, uint32_t width);
  Reg special(Special special, uint32_t width);
  bool isSpecial(const std::string &name, Special &special) const;
  Reg carry();
  Reg make(uint32_t width);
  uint32_t table(const std::vector<std::string> &labels);
  // Whether `name` is a variable, and then its space and address in it.
  bool variable(const std::string &name, Space &space, uint64_t &address) const;
  const std::vector<std::string> *targets(const std::string &name) const;
  bool inlined() const { return frames.size() > 1; }
  uint32_t capability;

  // A jump of the instruction that is decoded now.
  void jumpTo(const std::string &label);

private:
  struct Place {
    Space space;
    uint64_t address;
  };
  struct Frame {
    const Function *function = nullptr;
    std::map<std::string, Reg> registers;
    std::map<std::string, std::pair<std::string, uint32_t>> sets;
    std::map<std::string, Place> places;
    std::map<std::string, uint32_t> labels;
    std::vector<std::pair<uint32_t, std::string>> jumps;
    std::vector<std::pair<uint32_t, std::vector<std::string>>> tables;
    std::vector<uint32_t> returns;
  };
  const Syntax &syntax;
  const std::map<std::string, Symbol> &symbols;
  std::unique_ptr<Kernel> kernel;
  std::vector<Frame> frames;
  std::map<std::pair<uint64_t, uint32_t>, Reg> constants;
  std::map<std::pair<Special, uint32_t>, Reg> specials;
  std::map<std::string, Place> shared;
  Reg carryReg;
  bool hasCarry = false;

  void layoutShared(const Function &function);
  void collect(const Function &function, std::set<std::string> &names,
               std::set<const Function *> &functions) const;
  void parameters(const Function &function);
  void declare(const Function &function);
  void emit(const Function &function);
  void instruction(const Statement &statement);
  void call(const Statement &statement);
  void callWith(const Statement &statement, const Function &callee,
                const std::vector<Operand> &results,
                const std::vector<Operand> &arguments);
  void append(Decoder &d);
  uint32_t jump(const Statement &statement, bool skip);
  void markProducts();
  void resolveJumps();
  [[noreturn]] void bad(const Statement &statement,
                        const std::string &what) const;
  friend class Decoder;
};

} // namespace emulator
