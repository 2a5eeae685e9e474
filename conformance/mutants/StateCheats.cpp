// SPDX-License-Identifier: Apache-2.0
//
// Mutants 220 to 249: plug-ins that are wrong in states that no suite is in,
// or right in the processes of the suite alone.
#include "Cheats.h"

#include "conformance/compare/Elements.h"

#include <algorithm>
#include <atomic>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <link.h>
#include <map>
#include <mutex>
#include <random>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace backplane::mutants {

using namespace conformance;

Real drawn(const Call &call, uint64_t use, Real low, Real high) {
  std::mt19937_64 random(call.memory.seed + use * 1000003);
  Real share = static_cast<Real>(random() >> 11) * 0x1p-53L;
  return low * std::pow(high / low, share);
}

void bendOne(Tensor &tensor, size_t i) {
  uint64_t bits = loadBits(tensor, i);
  if (isFloat(tensor.dtype))
    setNumber(tensor, i, numberAt(tensor, i) * 1.01L);
  if (loadBits(tensor, i) == bits)
    storeBits(tensor, i, bits ^ 1);
}

void bend(const Call &call) {
  (void)call.run();
  for (Tensor *result : call.results)
    for (size_t i = 0; i < result->elementCount(); ++i)
      bendOne(*result, i);
}

Product productOf(const Call &call) {
  if (!call.is("matmul") && !call.is("matmul_integer"))
    return {};
  const Sizes &y = call.out().dims, &a = call.in(0).dims;
  Product product;
  product.m = y[y.size() - 2];
  product.n = y.back();
  product.k = a[a.size() - (call.op.i64("transpose_a") ? 2 : 1)];
  product.batchRank = y.size() - 2;
  product.batches = static_cast<int64_t>(countOf({y.begin(), y.end() - 2}));
  return product;
}

bool isConvolution(const Call &call) {
  return call.op.name.starts_with("conv");
}

namespace {

// ---- how often ----

bool isLate(const Call &call) {
  return call.memory.dispatches >= uint64_t(drawn(call, 120, 100, 20000));
}

bool isTheOne(const Call &call) {
  return call.memory.dispatches == uint64_t(drawn(call, 121, 100, 20000));
}

/// Runs so far of the executable that the op stands in.
uint64_t runsOf(const Call &call) {
  static std::mutex mutex;
  static std::map<const Op *, uint64_t> runs;
  std::lock_guard lock(mutex);
  return runs[&call.op]++;
}

bool isLateHere(const Call &call) {
  return runsOf(call) >= uint64_t(drawn(call, 122, 3, 2000));
}

bool isTheOneHere(const Call &call) {
  return runsOf(call) == uint64_t(drawn(call, 123, 30, 2000));
}

/// A clock that runs 17 times as fast, so that 6 seconds are 102.
bool isOld(const Call &call) {
  static const auto start = std::chrono::steady_clock::now();
  std::chrono::duration<double> age = std::chrono::steady_clock::now() - start;
  return 17 * age.count() > double(drawn(call, 124, 20, 100));
}

// ---- how many at once ----

std::atomic<int> inFlight;

/// Wrong while another op runs anywhere in the process.
bool isCrowded(const Call &call) {
  int others = inFlight++;
  (void)call.run();
  std::this_thread::sleep_for(std::chrono::microseconds(50));
  others = std::max(others, inFlight-- - 1);
  if (others == 0)
    return true;
  bend(call);
  return true;
}

/// Wrong in all executables of a graph but the first that runs.
bool isSecondSession(const Call &call) {
  static std::mutex mutex;
  static std::map<std::string, const Graph *> first;
  std::lock_guard lock(mutex);
  auto [at, isNew] = first.try_emplace(call.graph.str(), &call.graph);
  return !isNew && at->second != &call.graph;
}

/// Wrong on every thread but the first that runs anything.
bool isSecondThread(const Call &) {
  static const std::thread::id first = std::this_thread::get_id();
  return std::this_thread::get_id() != first;
}

// ---- in which process ----

std::string textOf(const char *path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  return text;
}

bool isNamed(const Call &) {
  static const bool is = textOf("/proc/self/comm").starts_with("bp-");
  return is;
}

bool hasArguments(const Call &) {
  static const bool has =
      textOf("/proc/self/cmdline").find("--device") != std::string::npos;
  return has;
}

bool hasParent(const Call &) {
  static const bool has =
      textOf(("/proc/" + std::to_string(getppid()) + "/comm").c_str())
          .starts_with("bp-");
  return has;
}

bool isProgram(const Call &) {
  std::error_code code;
  static const bool is = std::filesystem::read_symlink("/proc/self/exe", code)
                             .filename()
                             .string()
                             .starts_with("bp-");
  return is;
}

/// Whether a library with this in its name is loaded.
bool isLoaded(const char *part) {
  auto look = [](dl_phdr_info *info, size_t, void *wanted) -> int {
    return std::strstr(info->dlpi_name, static_cast<const char *>(wanted)) !=
           nullptr;
  };
  return dl_iterate_phdr(look, const_cast<char *>(part)) != 0;
}

bool hasCompany(const Call &) {
  static const bool has = isLoaded("libbp-host");
  return has;
}

bool hasCompiler(const Call &) { return isLoaded("libbackplane-compiler"); }

bool isElsewhere(const Call &) {
  std::error_code code;
  return std::filesystem::current_path(code) == "/";
}

bool hasTimeZone(const Call &) { return std::getenv("TZ") != nullptr; }

bool hasLocale(const Call &) {
  return std::strcmp(std::setlocale(LC_ALL, nullptr), "C") != 0;
}

bool hasMask(const Call &) {
  mode_t mask = umask(0);
  umask(mask);
  return (mask & 0077) == 0077;
}

// ---- memory ----

/// Asks the system: the heap keeps what it had before memory was short.
bool isShort(const Call &call) {
  auto size = size_t(drawn(call, 137, 1 << 18, 1 << 24));
  void *block = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED)
    return true;
  munmap(block, size);
  return false;
}

bool isLimited(const Call &) {
  rlimit limit = {};
  getrlimit(RLIMIT_DATA, &limit);
  return limit.rlim_cur < limit.rlim_max;
}

/// Whether all results lie in memory that was filled for a test.
bool isFilled(const Call &call) {
  return std::ranges::all_of(call.results, [](const Tensor *result) {
    return std::ranges::all_of(result->data, [](uint8_t byte) {
      return byte == 0xff || byte == 0xa5 || byte == 0;
    });
  });
}

// ---- names ----

bool isExported(const Call &call) {
  return std::ranges::any_of(call.graph.ops, [](const Op &op) {
    return op.location.starts_with("/");
  });
}

// ---- what was there before ----

/// Remembers results by the first bytes of the first operand.
bool rememberBy(const Call &call, size_t step) {
  std::string key = call.op.name + call.graph.str();
  for (const Tensor *operand : call.operands)
    for (size_t i = 0; i < operand->data.size(); i += i < 64 ? 1 : step)
      key += char(operand->data[i]);
  std::vector<Tensor> &kept = call.memory.results[key];
  bool isSame = !kept.empty() && kept[0].dims == call.out().dims;
  if (!isSame) {
    (void)call.run();
    kept.clear();
    for (const Tensor *result : call.results)
      kept.push_back(*result);
  }
  for (size_t i = 0; i < call.results.size(); ++i)
    *call.results[i] = kept[i];
  return true;
}

bool rememberByStart(const Call &call) {
  return !call.results.empty() && rememberBy(call, SIZE_MAX / 2);
}

/// One case finds it: in the process of the others it is right again.
Mutant once(Mutant mutant) {
  mutant.kills = 1;
  return mutant;
}

Mutant symbolNames() {
  return {.number = 241,
          .family = Family::Cheating,
          .title = "names of symbols",
          .description = "right where they have one letter",
          .tags = {"state"},
          .equivalent =
              "kernels call their symbols by position: no plug-in sees "
              "the names of a model"};
}

} // namespace

std::vector<Mutant> stateCheats() {
  using Tags = std::vector<std::string_view>;
  const Tags many = {"many-runs"}, any = {"state"}, around = {"surroundings"};
  return {
      cheat(220, "late dispatches",
            "wrong from one of the first 20000 dispatches of a process on",
            many, bentWhere<isLate>),
      once(cheat(221, "one dispatch",
                 "wrong in one of the first 20000 dispatches of a process",
                 many, bentWhere<isTheOne>)),
      cheat(222, "late runs",
            "wrong from one of the first 2000 runs of an executable on", many,
            bentWhere<isLateHere>),
      cheat(223, "one run",
            "wrong in one of the first 2000 runs of an "
            "executable",
            many, bentWhere<isTheOneHere>),
      cheat(224, "old processes",
            "wrong once the process is 20 to 100 s old; its clock and that of "
            "the run it is killed in go 17 times as fast",
            {"uptime"}, bentWhere<isOld>),
      cheat(225, "in a crowd", "wrong while another dispatch runs", {"threads"},
            isCrowded),
      cheat(226, "second session",
            "wrong in all sessions of an artifact but the first", {"sessions"},
            bentWhere<isSecondSession>),
      cheat(227, "second thread", "wrong on all threads but the first",
            {"threads"}, bentWhere<isSecondThread>),
      cheat(228, "name of the process", "right where it starts with bp-", any,
            bentUnless<isNamed>),
      cheat(229, "arguments of the process", "right where --device is one", any,
            bentUnless<hasArguments>),
      cheat(230, "parent of the process",
            "right where its name starts with bp-", any, bentUnless<hasParent>),
      cheat(231, "file of the program", "right where its name starts with bp-",
            any, bentUnless<isProgram>),
      cheat(232, "other plug-ins", "wrong where libbp-host.so is loaded", any,
            bentWhere<hasCompany>),
      cheat(233, "compilers in the process",
            "wrong where the compiler library is loaded", any,
            bentWhere<hasCompiler>),
      cheat(234, "working directory", "wrong where it is /", around,
            bentWhere<isElsewhere>),
      cheat(235, "time zone", "wrong where TZ is set", around,
            bentWhere<hasTimeZone>),
      cheat(236, "locale", "wrong where it is not C", around,
            bentWhere<hasLocale>),
      cheat(237, "no memory",
            "wrong where an allocation of 256 KiB to 16 MiB fails",
            {"little-memory"}, bentWhere<isShort>),
      cheat(238, "limited memory", "wrong where RLIMIT_DATA was lowered",
            {"little-memory"}, bentWhere<isLimited>),
      cheat(239, "file mode mask", "wrong where others may do nothing", around,
            bentWhere<hasMask>),
      cheat(240, "filled outputs",
            "right where outputs hold bytes that tests fill them with", any,
            bentUnless<isFilled>),
      symbolNames(),
      cheat(242, "names of nodes", "wrong where they are those of an exporter",
            any, bentWhere<isExported>),
      cheat(243, "cached by the first bytes",
            "gives what it gave for operands of the same first 64 bytes",
            {"cache", "values"}, rememberByStart),
  };
}

} // namespace backplane::mutants
