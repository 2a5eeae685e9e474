// SPDX-License-Identifier: Apache-2.0
//
// Mutants 340 to 354: plug-ins that are wrong at some elements or for some
// values, drawn anew for every run.
#include "Cheats.h"

#include "conformance/oracle/Format.h"

#include <algorithm>
#include <cmath>
#include <map>

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

} // namespace

Runs elementCheats() {
  return {{340, bendPlace},
          {341, bendLanes},
          {343, bendRow},
          {344, bendColumns},
          {345, bendFew},
          {346, bendBothNegative},
          {347, missFew},
          {348, sumInFloats},
          {349, longsInDoubles},
          {351, awayAtTies},
          {352, flushSums},
          {353, overflowEarly},
          {354, bentWhere<hasRealData>}};
}

} // namespace backplane::mutants
