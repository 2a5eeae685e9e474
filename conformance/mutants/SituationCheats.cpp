// SPDX-License-Identifier: Apache-2.0
//
// Mutants 420 to 431: plug-ins that are wrong after a pause or in a hurry, for
// data that come again, late in a submission, beside many other executables, or
// in processes with few processors, many threads or much memory.
#include "Cheats.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sched.h>
#include <unistd.h>

namespace backplane::mutants {

using namespace conformance;

namespace {

// ---- when ----

/// Seconds since the dispatch before, of any executable.
double pauseBefore() {
  using Clock = std::chrono::steady_clock;
  static std::mutex mutex;
  static Clock::time_point last = Clock::now();
  std::lock_guard lock(mutex);
  Clock::time_point now = Clock::now();
  std::chrono::duration<double> pause = now - last;
  last = now;
  return pause.count();
}

/// As a device that sleeps while it has nothing to do.
bool isAfterPause(const Call &call) {
  return pauseBefore() > double(drawn(call, 420, 0.1L, 3));
}

bool isInHurry(const Call &call) {
  return pauseBefore() < double(drawn(call, 421, 2e-5L, 2e-4L));
}

/// How often in a row the op has had these operands.
size_t timesTheSame(const Call &call) {
  static std::mutex mutex;
  static std::map<const Op *, std::pair<size_t, std::vector<Bytes>>> last;
  std::vector<Bytes> now;
  for (const Tensor *operand : call.operands)
    now.push_back(operand->data);
  std::lock_guard lock(mutex);
  auto &[times, data] = last[&call.op];
  times = data == now ? times + 1 : 1;
  data = std::move(now);
  return times;
}

bool isSecondTime(const Call &call) {
  return !call.operands.empty() && timesTheSame(call) == 2;
}

bool isThirdTime(const Call &call) {
  return !call.operands.empty() && timesTheSame(call) == 3;
}

// ---- beside what ----

bool isLateInSubmission(const Call &call) {
  return call.place >= threshold<size_t>(call, 424, 2, 12);
}

bool isBesideMany(const Call &call) {
  return call.memory.executables >= threshold<size_t>(call, 425, 3, 40);
}

bool hasManyBindings(const Call &call) {
  return call.command.binding_count >= threshold<size_t>(call, 426, 5, 12.99L);
}

// ---- in which process ----

/// May run on fewer processors than there are.
bool hasFewProcessors(const Call &) {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof(set), &set);
  return CPU_COUNT(&set) < sysconf(_SC_NPROCESSORS_CONF);
}

/// As Python does.
bool ignoresBrokenPipes(const Call &) {
  struct sigaction action = {};
  sigaction(SIGPIPE, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

bool hasManyThreads(const Call &call) {
  std::error_code code;
  std::filesystem::directory_iterator tasks("/proc/self/task", code), end;
  size_t count = code ? 0 : size_t(std::distance(tasks, end));
  return count >= threshold<size_t>(call, 430, 12, 60);
}

bool isLargeProcess(const Call &call) {
  std::ifstream file("/proc/self/statm");
  size_t whole = 0, resident = 0;
  file >> whole >> resident;
  return resident * size_t(sysconf(_SC_PAGESIZE)) >=
         threshold<size_t>(call, 431, 1 << 26, 1 << 28);
}

} // namespace

Runs situationCheats() {
  return {
      {420, bentWhere<isAfterPause>},       {421, bentWhere<isInHurry>},
      {422, bentWhere<isSecondTime>},       {423, bentWhere<isThirdTime>},
      {424, bentWhere<isLateInSubmission>}, {425, bentWhere<isBesideMany>},
      {426, bentWhere<hasManyBindings>},    {428, bentWhere<hasFewProcessors>},
      {429, bentWhere<ignoresBrokenPipes>}, {430, bentWhere<hasManyThreads>},
      {431, bentWhere<isLargeProcess>}};
}

} // namespace backplane::mutants
