// SPDX-License-Identifier: Apache-2.0
//
// Access.h: what the addresses of a warp point to, checked and counted.
#pragma once

#include "Machine.h"

namespace emulator {

enum class Use : uint8_t { Read, Write, Atomic };

struct Access {
  // Of each active lane.
  uint8_t *pointer[kLanes];
  uint64_t address[kLanes]; // inside of its space
  // All lanes are active and their bytes follow each other from pointer[0] on.
  bool contiguous = false;
  // Of all lanes, when they are in one.
  Space space = Space::Generic;

  // `size` bytes at the address that source `operand` of `inst` and its offset
  // give. Faults when they are out of bounds, not aligned or not readable.
  // `undefined`: lanes that write what is not defined.
  Access(Warp &warp, const Inst &inst, uint32_t operand, uint32_t size, Use use,
         uint32_t undefined = 0);

  // At given addresses of `where`.
  Access(Warp &warp, Space where, const uint64_t *addresses, uint32_t size,
         Use use);

private:
  Warp &warp;
  uint32_t size;
  Use use;
  bool uniform = false;

  void addresses(const Inst &inst, uint32_t operand);
  void checkAlignment();
  void check(uint32_t undefined);
  void pattern();
  void global(uint32_t lanes);
  void shared(uint32_t lanes, uint32_t undefined);
  void local(uint32_t lanes);
  void param(uint32_t lanes);
  void generic(uint32_t undefined);
  void countSectors(uint32_t lanes);
  void countBanks(uint32_t lanes);
  uint32_t conflicts(uint32_t lanes, uint32_t words) const;
  [[noreturn]] void outside(uint32_t lane, const std::string &where) const;
};

// What a lane has in a register of 32 or 64 bits that is a source: an address
// to which nothing is added.
inline uint64_t wordOf(const Warp &warp, const Inst &inst, uint32_t source,
                       uint32_t lane) {
  const Reg &reg = warp.reg(inst, source);
  return reg.width == 8 ? warp.at<uint64_t>(reg)[lane]
                        : warp.at<uint32_t>(reg)[lane];
}

} // namespace emulator
