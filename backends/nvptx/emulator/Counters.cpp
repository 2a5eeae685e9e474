// SPDX-License-Identifier: Apache-2.0
#include "Machine.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace emulator {
namespace {

std::mutex mutex;
Counters total = {};
constexpr size_t kWords = sizeof(Counters) / sizeof(uint64_t);

struct NamedCounter {
  const char *name;
  uint64_t Counters::*member;
};

#define COUNTER(name) {#name, &Counters::name}
constexpr NamedCounter names[] = {
    COUNTER(launches),
    COUNTER(blocks),
    COUNTER(instructions),
    COUNTER(integer_instructions),
    COUNTER(float_instructions),
    COUNTER(convert_instructions),
    COUNTER(control_instructions),
    COUNTER(memory_instructions),
    COUNTER(matrix_instructions),
    COUNTER(scalar_multiply_adds),
    COUNTER(matrix_multiply_adds),
    COUNTER(global_load_bytes),
    COUNTER(global_store_bytes),
    COUNTER(global_requests),
    COUNTER(global_sectors),
    COUNTER(global_ideal_sectors),
    COUNTER(shared_load_bytes),
    COUNTER(shared_store_bytes),
    COUNTER(shared_accesses),
    COUNTER(shared_conflicts),
    COUNTER(local_bytes),
    COUNTER(barriers),
    COUNTER(divergent_branches),
};
#undef COUNTER
static_assert(std::size(names) + 1 == kWords);

} // namespace

void writeCounters() {
  const char *path = std::getenv("BACKPLANE_COUNTERS");
  if (!path || !*path)
    return;
  std::scoped_lock lock(mutex);
  std::FILE *file = std::fopen(path, "w");
  if (!file) {
    std::fprintf(stderr,
                 "cuda emulator: cannot write BACKPLANE_COUNTERS '%s'\n", path);
    return;
  }
  for (const NamedCounter &counter : names)
    std::fprintf(file, "%s %" PRIu64 "\n", counter.name, total.*counter.member);
  std::fclose(file);
}

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
