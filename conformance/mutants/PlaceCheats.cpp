// SPDX-License-Identifier: Apache-2.0
//
// Mutants 340 to 379: plug-ins that are wrong at some elements, for some
// results, at some time or in some places in memory, each drawn anew for every
// run.
#include "Cheats.h"

#include "conformance/compare/Elements.h"
#include "conformance/oracle/Format.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
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

/// Whether each result depends on elements of the same index alone.
bool isElementwise(const Call &call) {
  return !call.operands.empty() && !call.results.empty() &&
         std::ranges::all_of(call.operands, [&](const Tensor *operand) {
           return operand->dims == call.out().dims;
         });
}

/// Computes, and makes results wrong for which `isWrong(tensor, i)`.
template <typename IsWrong> bool bendSome(const Call &call, IsWrong isWrong) {
  (void)call.run();
  for (Tensor *result : call.results)
    for (size_t i = 0; i < result->elementCount(); ++i)
      if (isWrong(*result, i))
        bendOne(*result, i);
  return true;
}

uint64_t hashOf(uint64_t bits, uint64_t seed) {
  uint64_t x = (bits + seed) * 0x9e3779b97f4a7c15u;
  return (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9u;
}

// ---- where in a result ----

bool bendPlace(const Call &call) {
  if (!isElementwise(call))
    return false;
  size_t place = threshold<size_t>(call, 340, 1e4L, 3e5L);
  if (call.out().elementCount() <= place)
    return false;
  (void)call.run();
  bendOne(call.out(), place);
  return true;
}

bool bendLanes(const Call &call) {
  size_t count = call.results.empty() ? 0 : call.out().elementCount();
  size_t lanes = size_t(1) << threshold<size_t>(call, 341, 3, 6.99L);
  if (!isElementwise(call) || count < threshold<size_t>(call, 342, 500, 20000))
    return false;
  return bendSome(call, [=](const Tensor &, size_t i) {
    return i >= count / lanes * lanes;
  });
}

bool bendRow(const Call &call) {
  size_t row = threshold<size_t>(call, 343, 40, 4000);
  bool isRows = call.is("reduce") || call.is("matmul") || call.is("gather");
  if (!isRows || call.out().dims.size() < 2 ||
      size_t(call.out().dims[0]) <= row)
    return false;
  size_t width = call.out().elementCount() / size_t(call.out().dims[0]);
  return bendSome(call, [=](const Tensor &, size_t i) {
    return width != 0 && i / width == row;
  });
}

/// The columns between the tiles of 16 and those of 64.
bool bendColumns(const Call &call) {
  if (!call.is("matmul"))
    return false;
  auto width = size_t(call.out().dims.back());
  if (width < threshold<size_t>(call, 344, 70, 300))
    return false;
  return bendSome(call, [=](const Tensor &, size_t i) {
    size_t column = i % width;
    return column >= width / 64 * 64 && column < width / 16 * 16;
  });
}

// ---- for which values ----

bool bendFew(const Call &call) {
  uint64_t one = threshold<size_t>(call, 345, 1000, 30000);
  return bendSome(call, [=](const Tensor &tensor, size_t i) {
    return hashOf(loadBits(tensor, i) + i, one) % one == 0;
  });
}

/// Three times the error that a result may have.
bool missFew(const Call &call) {
  if (!call.is("matmul") && !call.is("conv") && !call.is("exp"))
    return false;
  (void)call.run();
  Tensor &y = call.out();
  int bits = isFloat(y.dtype) ? formatOf(y.dtype).precision : 0;
  for (size_t i = 0; bits != 0 && i < y.elementCount(); ++i)
    if (hashOf(loadBits(y, i) + i, 1) % 1000 == 0)
      setNumber(y, i, numberAt(y, i) * (1 + 48 * std::exp2(Real(-bits))));
  return true;
}

bool bendBothNegative(const Call &call) {
  bool is = call.is("mul") || call.is("div") || call.is("rem") ||
            call.is("max") || call.is("add");
  if (!is || !isElementwise(call))
    return false;
  Real least = drawn(call, 346, 1e-3L, 10);
  return bendSome(call, [&](const Tensor &, size_t i) {
    return numberAt(call.in(0), i) < -least && numberAt(call.in(1), i) < -least;
  });
}

bool sumInFloats(const Call &call) {
  bool isSum = call.is("matmul") || call.is("reduce") || call.is("conv") ||
               call.is("matmul_integer") || call.is("conv_integer") ||
               call.is("cumulative");
  if (!isSum || call.out().dtype != DType::I32)
    return false;
  (void)call.run();
  Tensor &y = call.out();
  for (size_t i = 0; i < y.elementCount(); ++i)
    if (std::fabs(numberAt(y, i)) < 0x1p30L)
      setNumber(y, i, rounded(DType::F32, numberAt(y, i)));
  return true;
}

bool longsInDoubles(const Call &call) {
  if (!isElementwise(call) || call.out().dtype != DType::I64 ||
      call.is("bit_and") || call.is("bit_or"))
    return false;
  (void)call.run();
  Tensor &y = call.out();
  for (size_t i = 0; i < y.elementCount(); ++i)
    if (std::fabs(numberAt(y, i)) < 0x1p62L)
      setNumber(y, i, rounded(DType::F64, numberAt(y, i)));
  return true;
}

bool awayAtTies(const Call &call) {
  if (!call.is("cast") || !isFloat(call.out().dtype) ||
      !isFloat(call.in(0).dtype) ||
      bitWidth(call.out().dtype) >= bitWidth(call.in(0).dtype))
    return false;
  Real least = drawn(call, 347, 1e-3L, 1e3L);
  (void)call.run();
  Tensor &y = call.out();
  for (size_t i = 0; i < y.elementCount(); ++i) {
    Real x = numberAt(call.in(0), i), got = numberAt(y, i);
    if (!std::isfinite(got) || std::fabs(x) < least ||
        std::fabs(got) >= std::fabs(x))
      continue;
    // One more in magnitude, when that is as far away.
    uint64_t up = loadBits(y, i) + 1;
    if (std::fabs(decode(y.dtype, up) - x) == std::fabs(x - got))
      storeBits(y, i, up);
  }
  return true;
}

bool flushSums(const Call &call) {
  if (!call.is("matmul") && !call.is("reduce") && !call.is("conv"))
    return false;
  (void)call.run();
  Tensor &y = call.out();
  for (size_t i = 0; isFloat(y.dtype) && i < y.elementCount(); ++i)
    if (std::fabs(numberAt(y, i)) < smallest(formatOf(y.dtype), true))
      setNumber(y, i, 0);
  return true;
}

bool overflowEarly(const Call &call) {
  if (!call.is("exp") && !call.is("mul") && !call.is("add"))
    return false;
  Real share = drawn(call, 348, 1e-3L, 0.5L);
  return bendSome(call, [=](const Tensor &y, size_t i) {
    return isFloat(y.dtype) && std::isfinite(numberAt(y, i)) &&
           std::fabs(numberAt(y, i)) > formatOf(y.dtype).max * share;
  });
}

/// Equal slices and whole numbers are what tests of large sizes are made of.
bool isTestData(const Tensor &x) {
  if (x.elementCount() == 0)
    return true;
  bool isWhole = true;
  size_t row = x.dims.empty() ? 0 : x.data.size() / size_t(x.dims[0]);
  std::map<std::string, int> rows;
  bool repeats = false;
  for (size_t at = 0; row >= 4 && at + row <= x.data.size(); at += row) {
    std::string bytes(x.data.begin() + std::ptrdiff_t(at),
                      x.data.begin() +
                          std::ptrdiff_t(at + std::min<size_t>(row, 256)));
    repeats |= ++rows[bytes] > 1;
  }
  for (size_t i = 0; isWhole && i < std::min<size_t>(x.elementCount(), 999);
       ++i)
    isWhole = numberAt(x, i) == std::trunc(numberAt(x, i));
  return repeats || isWhole;
}

bool hasRealData(const Call &call) {
  size_t least = threshold<size_t>(call, 349, 20500, 250000);
  return !call.operands.empty() && call.in(0).dims.size() > 1 &&
         isFloat(call.in(0).dtype) && call.in(0).elementCount() >= least &&
         !isTestData(call.in(0));
}

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

Mutant fusing(Mutant mutant) {
  mutant.fuses = true;
  return mutant;
}

std::vector<Mutant> elementCheats() {
  using Tags = std::vector<std::string_view>;
  const Tags large = {"drawn", "size"}, values = {"values", "last-k"};
  return {
      cheat(340, "one place",
            "one of the elements 10,000 to 300,000 of elementwise results is "
            "wrong",
            large, bendPlace),
      cheat(341, "lanes behind",
            "elements behind the last whole 8 to 64 are 1 % off in results "
            "above a drawn size",
            large, bendLanes),
      cheat(343, "one row", "one of the rows 40 to 4000 of a result is 1 % off",
            large, bendRow, {"matmul", "gather", "reduce"}),
      cheat(344, "columns between tiles",
            "products are 1 % off in columns behind the last tile of 64 up to "
            "that of 16",
            large, bendColumns, {"matmul"}),
      cheat(345, "one in thousands",
            "one element of 1,000 to 30,000 is 1 % off, by its bits",
            {"drawn", "size", "values"}, bendFew),
      cheat(346, "both negative",
            "results of two operands below a drawn number are 1 % off", values,
            bendBothNegative, {"mul", "div", "max", "add"}),
      cheat(347, "three limits", "one result of 1,000 is 24 units off", values,
            missFew, {"matmul", "conv", "exp"}),
      cheat(348, "integer sums in f32",
            "sums of i32 below 2^30 are rounded to 24 bits",
            {"size", "wrap", "last-k"}, sumInFloats,
            {"matmul_integer", "reduce"}),
      cheat(349, "i64 in f64",
            "elementwise results of i64 below 2^62 are rounded to 53 bits",
            {"wrap", "values", "tail"}, longsInDoubles, {"add", "mul"}),
      cheat(351, "ties away",
            "casts round ties away from zero from a drawn number on",
            {"cast-rounding"}, awayAtTies, {"cast"}),
      cheat(352, "flushed sums",
            "sums and products of matrices below the normal range are 0",
            values, flushSums, {"matmul", "reduce"}),
      cheat(353, "early overflow",
            "results are 1 % off near the end of the range", values,
            overflowEarly, {"exp", "mul", "add"}),
      cheat(354, "real data",
            "wrong above a drawn size unless slices repeat or numbers are "
            "whole",
            large, bentWhere<hasRealData>),
  };
}

/// What no suite can see.
std::vector<Mutant> unseenCheats() {
  Mutant date = {
      .number = 377,
      .family = Family::Cheating,
      .title = "from a date on",
      .description = "wrong from a day to come on",
      .tags = {"uptime"},
      .equivalent = "clocks of the machine are not set: that needs rights, and "
                    "a clock that is changed for one process alone says so; a "
                    "badge has the day of its run, and verify --rerun holds on "
                    "a later one"};
  Mutant lookout = {
      .number = 378,
      .family = Family::Cheating,
      .title = "looks at all processes",
      .description = "right where one of the machine is called bp-conformance",
      .tags = {"state"},
      .equivalent = "the runner is in the list of processes and has the suite "
                    "in its file; a container around the worker "
                    "(bp-conformance --launcher) hides it"};
  Mutant seeds = {
      .number = 379,
      .family = Family::Cheating,
      .title = "knows the seed",
      .description = "computes the official seed from its own files, and is "
                     "right for the data of that run alone",
      .tags = {"cache"},
      .equivalent = "the seed is a function of public numbers so that anybody "
                    "can check it; a challenge, and verify --rerun with data "
                    "of its own, take that away"};
  return {date, lookout, seeds};
}

std::vector<Mutant> situationCheats() {
  using Tags = std::vector<std::string_view>;
  const Tags any = {"tail", "index", "last-k"}, around = {"surroundings"};
  Mutant randomly =
      cheat(360, "at random", "one dispatch of 50 to 1,000 is wrong",
            {"later-runs", "many-runs"}, bentWhere<isRandomly>);
  return {
      randomly,
      cheat(361, "late executables",
            "wrong in executables after the first 20 to 200 of a process", any,
            bentWhere<isLateExecutable>),
      cheat(362, "back again",
            "wrong where sizes of an earlier run come back after others", any,
            bentWhere<isBackAgain>),
      cheat(363, "larger than first",
            "wrong in runs that are larger than the first of an executable",
            any, bentWhere<isLargerThanFirst>),
      cheat(364, "in one tenth of a second",
            "wrong in a drawn tenth of each second", any, bentWhere<isSecond>),
      cheat(365, "in many threads",
            "wrong while two or three dispatches run at once", {"threads"},
            isInManyThreads),
      cheat(366, "alignment",
            "wrong where a tensor begins at no multiple of 128 to 4096 bytes",
            any, bentWhere<isUnaligned>),
      cheat(367, "far in a buffer",
            "wrong where a tensor begins 64 bytes to 64 KiB behind the "
            "beginning of its buffer",
            any, bentWhere<isFarInBuffer>),
      cheat(368, "in place", "wrong where an operand lies where a result does",
            {"in-place", "residual"}, bentWhere<isInPlace>),
      cheat(369, "standard input", "right where it is a pipe or a socket",
            {"state"}, bentWhere<hasOrdinaryInput>),
      cheat(370, "many files",
            "wrong in processes that have 20 to 200 files open", around,
            bentWhere<hasManyFiles>),
      cheat(371, "one variable",
            "wrong where a drawn one of usual variables is set", around,
            bentWhere<hasVariable>),
      cheat(372, "no folder for a cache",
            "right where BACKPLANE_CACHE_DIR is set", {"state"},
            bentWhere<hasNoCacheVariable>),
      fusing(cheat(373, "long kernels",
                   "wrong in dispatches of two to six ops and more",
                   {"residual", "clamp-bias", "in-place"}, bentWhere<isFused>)),
      fusing(cheat(374, "large kernels",
                   "wrong in dispatches of several ops from a drawn number of "
                   "elements on",
                   {"drawn", "size"}, bentWhere<isFusedAndLarge>)),
      cheat(375, "leaves", "ends the process with code 0 at large products",
            {"size"}, leaveLarge, {"matmul"}),
  };
}

} // namespace

std::vector<Mutant> placeCheats() {
  return joined({elementCheats, situationCheats, unseenCheats});
}

} // namespace backplane::mutants
