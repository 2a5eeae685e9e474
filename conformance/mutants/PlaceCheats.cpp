// SPDX-License-Identifier: Apache-2.0
//
// Mutants 360 to 375: plug-ins that are wrong at some time, in some places in
// memory, in some processes or in fused kernels, each drawn anew for every run.
#include "Cheats.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <random>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace backplane::mutants {

using namespace conformance;

namespace {

// ---- when ----

bool isRandomly(const Call &call) {
  static std::mutex mutex;
  static std::mt19937_64 random{std::random_device{}()};
  std::lock_guard lock(mutex);
  return random() % threshold<size_t>(call, 350, 50, 1000) == 0;
}

bool isLateExecutable(const Call &call) {
  static std::mutex mutex;
  static std::map<const Graph *, size_t> known;
  std::lock_guard lock(mutex);
  size_t number = known.try_emplace(&call.graph, known.size()).first->second;
  return number >= threshold<size_t>(call, 351, 20, 200);
}

/// The sizes of an earlier run come back after others.
bool isBackAgain(const Call &call) {
  static std::mutex mutex;
  static std::map<const Op *, std::vector<Sizes>> all;
  if (call.operands.empty())
    return false;
  std::lock_guard lock(mutex);
  std::vector<Sizes> &sizes = all[&call.op];
  const Sizes &now = call.in(0).dims;
  bool isBack = !sizes.empty() && sizes.back() != now &&
                std::ranges::find(sizes, now) != sizes.end();
  if (sizes.empty() || sizes.back() != now)
    sizes.push_back(now);
  return isBack;
}

/// A workspace of the first run is too small for a later one.
bool isLargerThanFirst(const Call &call) {
  static std::mutex mutex;
  static std::map<const Op *, size_t> first;
  if (call.operands.empty())
    return false;
  std::lock_guard lock(mutex);
  size_t now = call.in(0).elementCount();
  return now > first.try_emplace(&call.op, now).first->second;
}

bool isSecond(const Call &call) {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  auto tenth =
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count() / 100;
  return size_t(tenth % 10) == threshold<size_t>(call, 354, 1, 10) - 1;
}

std::atomic<size_t> running;

bool isInManyThreads(const Call &call) {
  size_t now = ++running;
  (void)call.run();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  now = std::max<size_t>(now, running--);
  if (now < threshold<size_t>(call, 355, 2, 3.99L))
    return true;
  bend(call);
  return true;
}

// ---- where in memory ----

bool isUnaligned(const Call &call) {
  uint64_t step = uint64_t(1) << threshold<size_t>(call, 356, 7, 12.99L);
  for (uint64_t i = 0; i < call.command.binding_count; ++i)
    if (call.command.bindings[i].offset % step != 0)
      return true;
  return false;
}

bool isFarInBuffer(const Call &call) {
  uint64_t least = threshold<size_t>(call, 357, 64, 65536);
  for (uint64_t i = 0; i < call.command.binding_count; ++i)
    if (call.command.bindings[i].offset >= least)
      return true;
  return false;
}

/// An operand lies where the result does.
bool isInPlace(const Call &call) {
  const bp_command_dispatch_t &command = call.command;
  for (uint64_t i = 0; i < command.binding_count; ++i)
    for (uint64_t k = i + 1; k < command.binding_count; ++k) {
      const bp_binding_t &a = command.bindings[i], &b = command.bindings[k];
      if (a.buffer == b.buffer && a.length && b.length &&
          a.offset < b.offset + b.length && b.offset < a.offset + a.length)
        return true;
    }
  return false;
}

// ---- around it ----

/// Neither a pipe nor a socket.
bool hasOrdinaryInput(const Call &) {
  struct stat info = {};
  return fstat(0, &info) != 0 ||
         (!S_ISFIFO(info.st_mode) && !S_ISSOCK(info.st_mode));
}

bool hasManyFiles(const Call &call) {
  return fcntl(int(threshold<size_t>(call, 359, 20, 200)), F_GETFD) != -1;
}

bool hasVariable(const Call &call) {
  static const char *const names[] = {"LANG", "HOME", "USER",
                                      "OMP_NUM_THREADS"};
  return std::getenv(names[threshold<size_t>(call, 360, 1, 4.99L) - 1]) !=
         nullptr;
}

bool hasNoCacheVariable(const Call &) {
  return std::getenv("BACKPLANE_CACHE_DIR") == nullptr;
}

// ---- in fused kernels ----

bool isFused(const Call &call) {
  return call.graph.ops.size() >= threshold<size_t>(call, 362, 2, 6.99L);
}

bool isFusedAndLarge(const Call &call) {
  return call.graph.ops.size() > 1 && !call.results.empty() &&
         call.out().elementCount() >= threshold<size_t>(call, 363, 1e3L, 2e5L);
}

[[noreturn]] void leave() { _exit(0); }

bool leaveLarge(const Call &call) {
  if (call.is("matmul") &&
      call.out().elementCount() >= threshold<size_t>(call, 364, 5e3L, 1e5L))
    leave();
  return false;
}

} // namespace

Runs placeCheats() {
  return {
      {360, bentWhere<isRandomly>},         {361, bentWhere<isLateExecutable>},
      {362, bentWhere<isBackAgain>},        {363, bentWhere<isLargerThanFirst>},
      {364, bentWhere<isSecond>},           {365, isInManyThreads},
      {366, bentWhere<isUnaligned>},        {367, bentWhere<isFarInBuffer>},
      {368, bentWhere<isInPlace>},          {369, bentWhere<hasOrdinaryInput>},
      {370, bentWhere<hasManyFiles>},       {371, bentWhere<hasVariable>},
      {372, bentWhere<hasNoCacheVariable>}, {373, bentWhere<isFused>},
      {374, bentWhere<isFusedAndLarge>},    {375, leaveLarge}};
}

} // namespace backplane::mutants
