// SPDX-License-Identifier: Apache-2.0
//
// Program.h: a kernel as it is executed. Calls are inlined, so that it is one
// list of instructions over one file of registers; labels are indices of
// instructions; immediates, addresses of variables and special registers are
// registers that are filled before the first instruction.
#pragma once

#include "Syntax.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace emulator {

struct Warp;
struct Inst;
using Handler = void (*)(Warp &, const Inst &);

// Where 32 lanes of a value are in the register file of a warp. A predicate is
// 32 bits, one for each lane.
struct Reg {
  uint32_t offset = 0;
  uint32_t id = 0;
  uint32_t width = 0; // bytes of a lane; 0: a predicate
};

// Classes that counters tell apart.
enum class Class : uint8_t { Integer, Float, Convert, Control, Memory, Matrix };

enum : uint8_t {
  // A lane that is not defined must not get here: its use is an error.
  kSink = 1,
  // The handler itself says which lanes of the results are defined.
  kOwnPoison = 2,
  // Runs also when no lane passes the guard.
  kAlways = 4,
  // Counts a multiply-add of each lane.
  kMultiplyAdd = 8,
  // A product of wgmma.
  kProduct = 16,
  // Reads shared memory as asynchronous copies do.
  kReadsAsync = 64,
  // Another instruction with a register of sums or factors of such a product.
  kTouchesProduct = 32,
};

struct Inst {
  Handler run = nullptr;
  uint32_t first = 0; // of its registers in Kernel::registers: results, sources
  uint8_t results = 0;
  uint8_t sources = 0;
  uint8_t flags = 0;
  Class kind = Class::Integer;
  bool guarded = false;
  bool guardNegated = false;
  Space space = Space::Generic;
  uint8_t bytes = 0; // of an element of memory
  Reg guard;
  int64_t offset = 0;           // of an address
  uint32_t a = 0, b = 0, c = 0; // of the handler
  uint32_t target = 0;          // of a branch
  uint32_t text = 0;            // in Kernel::texts
};

enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  LaneId,
  WarpId,
  NwarpId,
  LaneEq,
  LaneLe,
  LaneLt,
  LaneGe,
  LaneGt,
  SmId,
  NsmId,
  GridId,
  DynamicShared,
  TotalShared,
  Zero,
  One,
};

struct Parameter {
  std::string name;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct Kernel {
  std::string name;
  std::vector<Inst> code;
  std::vector<Reg> registers; // of all instructions, one after another
  std::vector<std::vector<uint32_t>> tables; // targets of brx.idx
  uint32_t fileBytes = 0;
  uint32_t registerCount = 0;
  std::vector<std::pair<Reg, uint64_t>> constants;
  std::vector<std::pair<Reg, Special>> specials;
  std::vector<Parameter> parameters;
  uint64_t parameterBytes = 0;
  uint64_t staticShared = 0; // the dynamic part begins there
  uint64_t localBytes = 0;
  uint32_t granule = 2;    // log2 of the narrowest access to shared memory
  bool readsAsync = false; // wgmma or bulk copies read shared memory
  // By id whether a product of wgmma has the register; empty without products.
  std::vector<uint8_t> productRegisters;
  uint32_t maxThreads = 1024;
  uint32_t neededThreads[3] = {0, 0, 0};
  struct Text {
    std::string text;
    uint32_t line;
  };
  std::vector<Text> texts;
};

// What the names of a module mean on a device.
struct Symbol {
  uint64_t address = 0;
  uint64_t bytes = 0;
};

// Makes the kernel `function` of a module. `symbols` has its global and
// constant variables, `capability` is that of the device (90 of sm_90). Throws
// Error, which names the kernel and the instruction.
std::unique_ptr<Kernel> build(const Syntax &syntax, const Function &function,
                              const std::map<std::string, Symbol> &symbols,
                              uint32_t capability);

} // namespace emulator
