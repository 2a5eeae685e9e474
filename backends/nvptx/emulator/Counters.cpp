// SPDX-License-Identifier: Apache-2.0
#include "Machine.h"

#include <algorithm>
#include <mutex>

namespace emulator {
namespace {

std::mutex mutex;
Counters total = {};
constexpr size_t kWords = sizeof(Counters) / sizeof(uint64_t);

} // namespace

void addCounters(const Counters &counters) {
  std::scoped_lock lock(mutex);
  const auto *from = reinterpret_cast<const uint64_t *>(&counters);
  auto *to = reinterpret_cast<uint64_t *>(&total);
  for (size_t i = 1; i < kWords; ++i)
    to[i] += from[i];
}

} // namespace emulator

extern "C" int bp_cuda_emulator_set(const char *name, const char *value) {
  return name && value && emulator::setOption(name, value) ? 0 : -1;
}

extern "C" int
bp_cuda_emulator_read_counters(bp_cuda_emulator_counters *counters) {
  std::scoped_lock lock(emulator::mutex);
  uint64_t size = counters->struct_size;
  std::memcpy(counters, &emulator::total,
              std::min<uint64_t>(size, sizeof(emulator::total)));
  counters->struct_size = size;
  return 0;
}

extern "C" void bp_cuda_emulator_reset_counters(void) {
  std::scoped_lock lock(emulator::mutex);
  emulator::total = {};
}

extern "C" size_t bp_cuda_emulator_last_error(char *text, size_t size) {
  return emulator::lastReport({text, size});
}
