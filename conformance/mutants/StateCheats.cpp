// SPDX-License-Identifier: Apache-2.0
//
// Mutants 220 to 249: plug-ins that are wrong in states that no suite is in,
// or right in the processes of the suite alone.
#include "Cheats.h"

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

/// Runs so far of the executable that has the op.
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

} // namespace

Runs stateCheats() {
  return {{220, bentWhere<isLate>},
          {221, bentWhere<isTheOne>},
          {222, bentWhere<isLateHere>},
          {223, bentWhere<isTheOneHere>},
          {224, bentWhere<isOld>},
          {225, isCrowded},
          {226, bentWhere<isSecondSession>},
          {227, bentWhere<isSecondThread>},
          {228, bentUnless<isNamed>},
          {229, bentUnless<hasArguments>},
          {230, bentUnless<hasParent>},
          {231, bentUnless<isProgram>},
          {232, bentWhere<hasCompany>},
          {233, bentWhere<hasCompiler>},
          {234, bentWhere<isElsewhere>},
          {235, bentWhere<hasTimeZone>},
          {236, bentWhere<hasLocale>},
          {237, bentWhere<isShort>},
          {238, bentWhere<isLimited>},
          {239, bentWhere<hasMask>},
          {240, bentUnless<isFilled>},
          {242, bentWhere<isExported>},
          {243, rememberByStart}};
}

} // namespace backplane::mutants
