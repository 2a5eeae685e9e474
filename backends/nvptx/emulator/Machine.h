// SPDX-License-Identifier: Apache-2.0
//
// Machine.h: what executes a kernel: a launch, its blocks one after another,
// and the warps of a block.
#pragma once

#include "Error.h"
#include "Memory.h"
#include "Options.h"
#include "Program.h"
#include "SharedMemory.h"
#include "bp_cuda_emulator.h"

#include <array>
#include <bit>
#include <cstring>

namespace emulator {

constexpr uint32_t kLanes = 32;
constexpr uint32_t kAll = ~uint32_t(0);

using Counters = bp_cuda_emulator_counters;

struct Block;

struct Launch {
  const Kernel *kernel = nullptr;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t dynamicShared = 0;
  int device = 0;
  std::vector<uint8_t> parameters;
  Options options;
  Counters counters = {};
  uint64_t executed = 0; // instructions of warps
  // Buffers that were used last, so that most accesses need no look-up.
  std::array<const Allocation *, 8> recent = {};
  uint32_t nextRecent = 0;

  // Executes all blocks. Throws Error with the whole text of a fault.
  void run();
  // Instructions of a warp count towards the limit of the launch.
  void add(uint64_t instructions);
  // The buffer that has `size` bytes at `address`, or nullptr.
  const Allocation *find(uint64_t address, uint64_t size);
};

// Lanes that go on at another instruction than the running ones. Those that
// `wait` stay there until others arrive.
struct Split {
  uint32_t pc = 0;
  uint32_t lanes = 0;
  bool waits = false;
};

enum class WarpState : uint8_t { Ready, AtBarrier, Done };

struct Warp {
  uint8_t *file = nullptr;    // lanes of all registers
  uint32_t *poison = nullptr; // of each register, lanes that nobody has written
  const Reg *registers = nullptr;
  Launch *launch = nullptr;
  Block *block = nullptr;
  uint8_t *local = nullptr; // of all lanes, Kernel::localBytes each
  uint32_t index = 0;
  uint32_t live = 0;  // lanes that have not exited
  uint32_t lanes = 0; // that run now
  uint32_t mask = 0;  // of them, those that execute this instruction
  uint32_t pc = 0;
  uint32_t next = 0;
  uint64_t executed = 0;
  WarpState state = WarpState::Ready;
  bool yields = false; // lets others run before it goes on
  std::vector<Split> splits;
  // At a barrier: which, what it brings and what it is to get.
  uint32_t barrier = 0;
  const Inst *reduction = nullptr;
  // Copies of cp.async that wait: of the open group and of closed ones.
  struct Copy {
    uint32_t shared;
    uint32_t bytes;
  };
  std::vector<Copy> openCopies;
  std::vector<std::vector<Copy>> copyGroups;
  // Products of wgmma that wait: of the open group and of closed ones.
  struct Products {
    std::vector<uint32_t> sums, factors; // ids of their registers
    std::vector<Copy> reads;
  };
  Products openProducts;
  std::vector<Products> productGroups;
  bool fenced = false; // wgmma.fence was executed
  // By id, registers of products that others used since the last wgmma.fence.
  std::vector<uint8_t> touched;

  const Reg &reg(const Inst &inst, uint32_t i) const {
    return registers[inst.first + i];
  }
  template <class T> T *at(const Reg &reg) const {
    return reinterpret_cast<T *>(file + reg.offset);
  }
  template <class T> T *values(const Inst &inst, uint32_t i) const {
    return at<T>(reg(inst, i));
  }
  uint32_t &predicate(const Inst &inst, uint32_t i) const {
    return *values<uint32_t>(inst, i);
  }

  // Runs until it waits, is done, or has executed `budget` instructions.
  void run(uint64_t budget);
  // Whether all lanes of `members` that live are here; otherwise these lanes
  // wait for them, and the handler must return.
  bool gather(uint32_t members);
  // Lets the lanes of `taken` go on at `target`, the others behind.
  void branch(uint32_t taken, uint32_t target);
  void exit(uint32_t lanes);
  // Whether a product that was not waited for makes the register.
  bool makesLater(uint32_t id) const;
  [[noreturn]] void fault(CUresult code, uint32_t lane,
                          const std::string &text) const;

private:
  void arrange();
  void select();
  void checkPoison(const Inst &inst, uint32_t poisoned) const;
  void touch(const Inst &inst);
};

struct Barrier {
  uint32_t arrived = 0;                    // threads
  uint32_t expected = 0;                   // threads, 0: all that live
  uint32_t all = kAll, any = 0, count = 0; // of the reduction
};

struct Block {
  Launch &launch;
  uint32_t id[3] = {0, 0, 0};
  uint32_t threads = 0;
  std::vector<Warp> warps;
  std::array<Barrier, 16> barriers;
  SharedMemory shared;
  // Bulk copies that may not be read: until the phase of their barrier is
  // complete, and a warp has found it so.
  struct BulkCopy {
    uint64_t barrier, shared;
    uint32_t bytes;
    bool landed = false; // the phase is complete
  };
  std::vector<BulkCopy> bulkCopies;
  // Storage of the warps.
  std::vector<uint8_t> files;
  std::vector<uint32_t> poisons;
  std::vector<uint8_t> locals;

  explicit Block(Launch &launch);
  void run(uint64_t linear);
  // A warp arrives at a barrier; `waits`: and stays until all have.
  void arrive(Warp &warp, uint32_t barrier, uint32_t expected, bool waits);
  void complete(uint32_t barrier);
  void warpIsDone();

private:
  uint64_t random = 1;
  void reset(uint64_t linear);
  void fillSpecials(Warp &warp, bool constant);
  std::array<uint64_t, size_t(Special::One) + 1>
  specialsOf(const Warp &warp, uint32_t lane) const;
  uint64_t draw();
  Warp *choose(size_t &turn);
  [[noreturn]] void deadlock() const;
};

// Adds what a launch counted to the counters of the process.
void addCounters(const Counters &counters);
// To the file that the environment variable BACKPLANE_COUNTERS names, if any.
void writeCounters();

} // namespace emulator
