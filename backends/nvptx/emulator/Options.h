// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace emulator {

enum class Schedule : uint8_t { InOrder, Reversed, Random };

// What bp_cuda_emulator_set changes.
struct Options {
  bool poison = true;
  bool races = true;
  Schedule schedule = Schedule::InOrder;
  uint64_t seed = 1;
  uint64_t limit = 400'000'000; // instructions of a warp
  uint64_t total = 0;           // of all warps of a launch; 0: no limit
  bool log = true;
  std::string modules; // folder of the texts of modules; empty: none
};

// A copy of the options as they are now.
Options currentOptions();
// False for an unknown name or value.
bool setOption(const std::string &name, const std::string &value);

// Keeps the text for bp_cuda_emulator_last_error and writes it to stderr.
void report(const std::string &text);
// The first bytes of it, and the length of the whole.
size_t lastReport(std::span<char> text);

} // namespace emulator
