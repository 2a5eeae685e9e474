// SPDX-License-Identifier: Apache-2.0
#include "DataSets.h"

#include "Data.h"
#include "PatternData.h"
#include "Probes.h"
#include "ValueData.h"
#include "conformance/oracle/Format.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

uint64_t withInput(uint64_t seed, size_t input) {
  return seed ^ hashText("input") * (input + 1);
}

uint64_t maskOf(DType dtype) {
  return bitWidth(dtype) == 64 ? ~uint64_t(0)
                               : (uint64_t(1) << bitWidth(dtype)) - 1;
}

uint64_t bitsOfNumber(DType dtype, Real value) {
  if (isFloat(dtype))
    return encode(dtype, value);
  if (dtype == DType::Bool)
    return value != 0;
  return static_cast<uint64_t>(static_cast<int64_t>(value)) & maskOf(dtype);
}

uint64_t put(const Location &location, Real value) {
  return bitsOfNumber(location.dtype(), value);
}

uint64_t summable(const Location &location, uint64_t bits) {
  constexpr uint64_t largestNarrow = 0x7f7f0000, infinite = 0x7f800000;
  uint64_t magnitude = bits & 0x7fffffff;
  bool isSummed =
      location.dtype() == DType::F32 && location.rule.terms != Dim(0);
  return isSummed && magnitude > largestNarrow && magnitude < infinite
             ? (bits ^ magnitude) | largestNarrow
             : bits;
}

double fractionOf(uint64_t random) {
  return std::ldexp(static_cast<double>(random >> 11), -53);
}

double normalDeviate(uint64_t random) {
  double sum = -2;
  for (uint64_t part = 0; part < 4; ++part)
    sum += fractionOf(randomBits(random, part));
  return sum * 1.7320508075688772;
}

namespace {

/// 1 or -1; 1 where the dtype has no sign.
Real signOf(const Location &location) {
  bool hasSign = isFloat(location.dtype()) || isSignedInteger(location.dtype());
  return hasSign && (location.random >> 32) % 2 ? -1 : 1;
}

// ---- numbers ----

/// In [-9, 9]; 4 bits hold 7.
Real integer(const Location &location) {
  uint64_t limit = bitWidth(location.dtype()) == 4 ? 7 : 9;
  return signOf(location) * static_cast<Real>(location.random % (limit + 1));
}

uint64_t uniform(const Location &location) {
  return put(location, isFloat(location.dtype())
                           ? 8 * fractionOf(location.random) - 4
                           : integer(location));
}

/// All combinations of the special values of all inputs.
uint64_t special(const Location &location) {
  size_t at = location.index, count = location.special.size();
  for (size_t input = 0; input < location.input; ++input)
    at /= count;
  return summable(location, location.special[at % count]);
}

uint64_t exhaustive(const Location &location) {
  return (location.index >> (bitWidth(location.dtype()) * location.input)) &
         maskOf(location.dtype());
}

uint64_t randomPattern(const Location &location) {
  return location.random &
         (location.dtype() == DType::Bool ? 1 : maskOf(location.dtype()));
}

// ---- sums ----

/// Integers of at most 7 and few enough bits that `terms` products of two stay
/// below 2^24.
uint64_t integers(const Location &location) {
  uint64_t limit = location.terms * 49 <= (int64_t(1) << 24) ? 7 : 1;
  Real value = static_cast<Real>(location.random % (limit + 1));
  bool isNegative =
      (location.random >> 32) % 2 && !isUnsignedInteger(location.dtype());
  return put(location, isNegative ? -value : value);
}

/// One 1 along the contracted axes of each line.
uint64_t oneHot(const Location &location) {
  if (location.rule.contracted == 0)
    return put(location, Real(1 + location.random % 113));
  uint64_t along = 0, lengths = 1, line = 0, lines = 1, rest = location.index;
  for (size_t axis = location.tensor.dims.size(); axis-- > 0;) {
    auto size = static_cast<uint64_t>(location.tensor.dims[axis]);
    bool isContracted = location.rule.contracted >> axis & 1;
    uint64_t &position = isContracted ? along : line;
    uint64_t &stride = isContracted ? lengths : lines;
    position += rest % size * stride;
    stride *= size;
    rest /= size;
  }
  return put(location, along == randomBits(location.seed, line) % lengths);
}

uint64_t cancel(const Location &location) {
  Real value = (1 + Real(location.index / 2 % 5)) * 100;
  return put(location, location.index % 2 ? -value : value);
}

uint64_t equal(const Location &location) {
  return put(location, isFloat(location.dtype()) ? 0.3L : 3);
}

/// The largest power of ten below 2^(p-1), and a nearly normal deviate.
uint64_t offset(const Location &location) {
  if (!isFloat(location.dtype()))
    return put(location, 100 + integer(location));
  int digits = formatOf(location.dtype()).precision * 3 / 10;
  double base = 1;
  for (int digit = 1; digit < digits; ++digit)
    base *= 10;
  return put(location, base + normalDeviate(location.random));
}

/// 2^(p/2) and a nearly normal deviate: variances from the sum of squares lose
/// all digits, those of two passes hardly any.
uint64_t shifted(const Location &location) {
  if (!isFloat(location.dtype()))
    return put(location, 100 + integer(location));
  int half = formatOf(location.dtype()).precision / 2;
  return put(location, std::ldexp(1.0, half) + normalDeviate(location.random));
}

/// Most of a sum are ones that an accumulator as narrow as the dtype, or of 11
/// bits, loses beside the two large numbers. Products stay exact in 24 bits.
uint64_t swamping(const Location &location) {
  if (location.input != 0)
    return put(location, 1);
  int bits = isFloat(location.dtype())
                 ? formatOf(location.dtype()).precision
                 : static_cast<int>(bitWidth(location.dtype())) - 2;
  Real large = std::ldexp(Real(1), std::min(bits, 11));
  size_t step = location.index % 16;
  return put(location, step == 0 ? large : step == 15 ? -large : 1);
}

uint64_t wide(const Location &location) {
  Real bound = location.dtype() == DType::F64 ? 1000 : 100;
  return put(location, signOf(location) * bound * fractionOf(location.random));
}

uint64_t alternating(const Location &location) {
  bool isNegative = location.index % 2 && !isUnsignedInteger(location.dtype());
  Real value = isFloat(location.dtype())
                   ? 0.5 + 3.5 * fractionOf(location.random)
                   : 1 + Real(location.random % 7);
  return put(location, isNegative ? -value : value);
}

uint64_t sparse(const Location &location) {
  return randomBits(location.random, 1) % 8 == 0 ? uniform(location) : 0;
}

/// Nothing but an infinity, and some of the number next to it: what starts with
/// either has to tell them apart.
template <bool isLow> uint64_t brim(const Location &location) {
  uint64_t sign = uint64_t(isLow) << (bitWidth(location.dtype()) - 1);
  const FloatFormat &format = formatOf(location.dtype());
  bool isFinite = location.index && randomBits(location.random, 1) % 4 == 0;
  return encode(location.dtype(), isFinite ? format.max : Real(INFINITY)) |
         sign;
}

/// At the corners of tiles of 16 by 16 in the last two axes: NaN, or the
/// pattern that NaN has in floats for other dtypes. Sums of products have them
/// in the first operand, so that some results stay numbers.
uint64_t corners(const Location &location) {
  if (location.input != 0 && location.rule.terms != Dim(0))
    return uniform(location);
  uint64_t rest = location.index;
  size_t rank = location.tensor.dims.size();
  bool isCorner = true;
  for (size_t left = rank; left > 0 && left + 2 > rank; --left) {
    size_t axis = left - 1;
    auto size = static_cast<uint64_t>(location.tensor.dims[axis]);
    uint64_t at = rest % size;
    isCorner &= at % 16 == 0 || at % 16 == 15 || at + 1 == size;
    rest /= size;
  }
  if (!isCorner)
    return uniform(location);
  return location.dtype() == DType::Bool ? 1 : maskOf(location.dtype()) >> 1;
}

// ---- functions and casts ----

/// m / 8 * pi * 2^e for m up to 15 and e up to 100, as far as the dtype
/// reaches, and the neighbours of these numbers.
uint64_t multiplesOfPi(const Location &location) {
  if (!isFloat(location.dtype()))
    return put(location, Real(location.index % 100));
  // pi with 60 bits, so that every product is exact wherever this runs.
  constexpr uint64_t pi = 0xc90fdaa22168c23u;
  int reach = std::clamp(formatOf(location.dtype()).maxExponent - 3, 0, 100);
  int power = static_cast<int>(location.index % static_cast<size_t>(reach + 1));
  uint64_t multiple = 1 + location.random % 15;
  Real value = std::ldexp(Real(pi * multiple), power - 58 - 3);
  uint64_t bits = put(location, signOf(location) * value);
  return bits + (location.random >> 40) % 3 - 1;
}

/// A float format to round to, and one that lies between it and the source.
struct Target {
  DType narrow, between;
};

constexpr Target targets[] = {
    {DType::F32, DType::F64},      {DType::F16, DType::F32},
    {DType::BF16, DType::F32},     {DType::F8E4M3FN, DType::F16},
    {DType::F8E5M2, DType::F16},   {DType::F16, DType::F64},
    {DType::F8E4M3FN, DType::F32}, {DType::F8E5M2, DType::BF16}};

/// The integer part n and a half, and its neighbours.
Real nearHalf(const Location &location, const FloatFormat &format) {
  Real n = static_cast<Real>(location.random % 300);
  Real value = n + 0.5L;
  int side = static_cast<int>((location.random >> 20) % 3) - 1;
  return signOf(location) * (value + side * ulp(format, value));
}

uint64_t floatTie(const Location &location) {
  const FloatFormat &own = formatOf(location.dtype());
  Target target = targets[location.index % std::size(targets)];
  const FloatFormat &narrow = formatOf(target.narrow);
  if (location.index % 3 == 0 || narrow.precision >= own.precision)
    return put(location, nearHalf(location, own));
  // A significand of the target, and half a unit in its last place.
  uint64_t top = uint64_t(1) << (narrow.precision - 1);
  Real value = static_cast<Real>(2 * (top + location.random % top) + 1);
  int range = std::min(narrow.maxExponent, own.maxExponent) - 1;
  int lowest = std::max(narrow.minExponent, own.minExponent) + 1;
  auto span = static_cast<uint64_t>(range - lowest);
  int power = lowest + static_cast<int>((location.random >> 24) % span);
  // What rounding to the format between loses, or the least that there is.
  int between = formatOf(target.between).precision;
  bool isDouble = (location.random >> 60) % 2 && between + 1 < own.precision;
  int bits = isDouble ? between + 1 : own.precision;
  Real nudge = std::ldexp(Real(1), narrow.precision + 1 - bits);
  value += nudge * (static_cast<int>((location.random >> 50) % 3) - 1);
  return put(location,
             signOf(location) * std::ldexp(value, power - narrow.precision));
}

/// Integers halfway between neighbours of a float format, and beside.
uint64_t integerTie(const Location &location) {
  auto width = static_cast<int>(bitWidth(location.dtype()));
  if (width < 8)
    return randomPattern(location);
  int precision =
      formatOf(targets[location.index % std::size(targets)].narrow).precision;
  int room = width - (isSignedInteger(location.dtype()) ? 1 : 0) - precision;
  if (room < 1)
    return randomPattern(location);
  uint64_t top = uint64_t(1) << (precision - 1);
  int shift = 1 + static_cast<int>((location.random >> 40) %
                                   static_cast<uint64_t>(room));
  uint64_t value = (2 * (top + location.random % top) + 1) << (shift - 1);
  value += (location.random >> 50) % 3 - 1;
  return (signOf(location) < 0 ? 0 - value : value) & maskOf(location.dtype());
}

uint64_t ties(const Location &location) {
  if (location.dtype() == DType::Bool)
    return location.random & 1;
  return isFloat(location.dtype()) ? floatTie(location) : integerTie(location);
}

constexpr NamedDataSet dataSets[] = {{"uniform", uniform},
                                     {"special", special},
                                     {"exhaustive", exhaustive},
                                     {"bits", randomPattern},
                                     {"integers", integers},
                                     {"one-hot", oneHot},
                                     {"cancel", cancel},
                                     {"equal", equal},
                                     {"offset", offset},
                                     {"swamping", swamping},
                                     {"alternating", alternating},
                                     {"sparse", sparse},
                                     {"shifted", shifted},
                                     {"wide", wide},
                                     {"corners", corners},
                                     {"pi", multiplesOfPi},
                                     {"ties", ties},
                                     {"bottom", brim<true>},
                                     {"top", brim<false>},
                                     {"one-index", uniform},
                                     {"falling-indices", uniform},
                                     {"next-indices", uniform},
                                     {"errors", uniform},
                                     {"errors-end", uniform},
                                     {"errors-below", uniform}};

} // namespace

DataSet findIn(std::span<const NamedDataSet> dataSets, std::string_view name) {
  const auto found = std::ranges::find(dataSets, name, &NamedDataSet::first);
  return found == dataSets.end() ? nullptr : found->second;
}

DataSet findDataSet(std::string_view name) {
  if (DataSet dataSet = findIn(dataSets, name))
    return dataSet;
  if (DataSet dataSet = findNarrowData(name))
    return dataSet;
  if (DataSet dataSet = findPatternData(name))
    return dataSet;
  if (DataSet dataSet = findValueData(name))
    return dataSet;
  return findProbeData(name);
}

} // namespace backplane::conformance
