// SPDX-License-Identifier: Apache-2.0
#include "DataSets.h"

#include "Data.h"
#include "PatternData.h"
#include "Probes.h"
#include "ValueData.h"
#include "conformance/oracle/Format.h"

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

uint64_t put(const Place &place, Real value) {
  return bitsOfNumber(place.dtype(), value);
}

/// 1 or -1; 1 where the dtype has no sign.
Real signOf(const Place &place) {
  bool hasSign = isFloat(place.dtype()) || isSignedInteger(place.dtype());
  return hasSign && (place.random >> 32) % 2 ? -1 : 1;
}

// ---- numbers ----

/// In [-9, 9]; 4 bits hold 7.
Real integer(const Place &place) {
  uint64_t limit = bitWidth(place.dtype()) == 4 ? 7 : 9;
  return signOf(place) * static_cast<Real>(place.random % (limit + 1));
}

uint64_t uniform(const Place &place) {
  return put(place, isFloat(place.dtype()) ? 8 * fractionOf(place.random) - 4
                                           : integer(place));
}

/// All combinations of the special values of all inputs.
uint64_t special(const Place &place) {
  size_t at = place.index, count = place.special.size();
  for (size_t input = 0; input < place.input; ++input)
    at /= count;
  return place.special[at % count];
}

uint64_t exhaustive(const Place &place) {
  return (place.index >> (bitWidth(place.dtype()) * place.input)) &
         maskOf(place.dtype());
}

uint64_t randomPattern(const Place &place) {
  return place.random &
         (place.dtype() == DType::Bool ? 1 : maskOf(place.dtype()));
}

// ---- sums ----

/// Integers of at most 7 and few enough bits that `terms` products of two stay
/// below 2^24.
uint64_t integers(const Place &place) {
  uint64_t limit = place.terms * 49 <= (int64_t(1) << 24) ? 7 : 1;
  Real value = static_cast<Real>(place.random % (limit + 1));
  bool isNegative =
      (place.random >> 32) % 2 && !isUnsignedInteger(place.dtype());
  return put(place, isNegative ? -value : value);
}

/// One 1 along the contracted axes of each line.
uint64_t oneHot(const Place &place) {
  if (place.rule.contracted == 0)
    return put(place, Real(1 + place.random % 113));
  uint64_t along = 0, lengths = 1, line = 0, lines = 1, rest = place.index;
  for (size_t axis = place.tensor.dims.size(); axis-- > 0;) {
    auto size = static_cast<uint64_t>(place.tensor.dims[axis]);
    bool isContracted = place.rule.contracted >> axis & 1;
    uint64_t &position = isContracted ? along : line;
    uint64_t &stride = isContracted ? lengths : lines;
    position += rest % size * stride;
    stride *= size;
    rest /= size;
  }
  return put(place, along == randomBits(place.seed, line) % lengths);
}

uint64_t cancel(const Place &place) {
  Real value = (1 + Real(place.index / 2 % 5)) * 100;
  return put(place, place.index % 2 ? -value : value);
}

uint64_t equal(const Place &place) {
  return put(place, isFloat(place.dtype()) ? 0.3L : 3);
}

/// The largest power of ten below 2^(p-1), and a nearly normal deviate.
uint64_t offset(const Place &place) {
  if (!isFloat(place.dtype()))
    return put(place, 100 + integer(place));
  int digits = formatOf(place.dtype()).precision * 3 / 10;
  double base = 1;
  for (int digit = 1; digit < digits; ++digit)
    base *= 10;
  return put(place, base + normalDeviate(place.random));
}

/// 2^(p/2) and a nearly normal deviate: variances from the sum of squares lose
/// all digits, those of two passes hardly any.
uint64_t shifted(const Place &place) {
  if (!isFloat(place.dtype()))
    return put(place, 100 + integer(place));
  int half = formatOf(place.dtype()).precision / 2;
  return put(place, std::ldexp(1.0, half) + normalDeviate(place.random));
}

/// Most of a sum are ones that an accumulator as narrow as the dtype, or of 11
/// bits, loses beside the two large numbers. Products stay exact in 24 bits.
uint64_t swamping(const Place &place) {
  if (place.input != 0)
    return put(place, 1);
  int bits = isFloat(place.dtype())
                 ? formatOf(place.dtype()).precision
                 : static_cast<int>(bitWidth(place.dtype())) - 2;
  Real large = std::ldexp(Real(1), std::min(bits, 11));
  size_t step = place.index % 16;
  return put(place, step == 0 ? large : step == 15 ? -large : 1);
}

uint64_t wide(const Place &place) {
  Real bound = place.dtype() == DType::F64 ? 1000 : 100;
  return put(place, signOf(place) * bound * fractionOf(place.random));
}

uint64_t alternating(const Place &place) {
  bool isNegative = place.index % 2 && !isUnsignedInteger(place.dtype());
  Real value = isFloat(place.dtype()) ? 0.5 + 3.5 * fractionOf(place.random)
                                      : 1 + Real(place.random % 7);
  return put(place, isNegative ? -value : value);
}

uint64_t sparse(const Place &place) {
  return randomBits(place.random, 1) % 8 == 0 ? uniform(place) : 0;
}

/// At the corners of tiles of 16 by 16 in the last two axes: NaN, or the
/// pattern that NaN has in floats for other dtypes. Sums of products have them
/// in the first operand, so that some results stay numbers.
uint64_t corners(const Place &place) {
  if (place.input != 0 && place.rule.terms != Dim(0))
    return uniform(place);
  uint64_t rest = place.index;
  size_t rank = place.tensor.dims.size();
  bool isCorner = true;
  for (size_t left = rank; left > 0 && left + 2 > rank; --left) {
    size_t axis = left - 1;
    auto size = static_cast<uint64_t>(place.tensor.dims[axis]);
    uint64_t at = rest % size;
    isCorner &= at % 16 == 0 || at % 16 == 15 || at + 1 == size;
    rest /= size;
  }
  if (!isCorner)
    return uniform(place);
  return place.dtype() == DType::Bool ? 1 : maskOf(place.dtype()) >> 1;
}

// ---- functions and casts ----

/// m / 8 * pi * 2^e for m up to 15 and e up to 100, as far as the dtype
/// reaches, and the neighbours of these numbers.
uint64_t multiplesOfPi(const Place &place) {
  if (!isFloat(place.dtype()))
    return put(place, Real(place.index % 100));
  // pi with 60 bits, so that every product is exact wherever this runs.
  constexpr uint64_t pi = 0xc90fdaa22168c23u;
  int reach = std::min(100, formatOf(place.dtype()).maxExponent - 3);
  int power = static_cast<int>(place.index % static_cast<size_t>(reach + 1));
  uint64_t multiple = 1 + place.random % 15;
  Real value = std::ldexp(Real(pi * multiple), power - 58 - 3);
  uint64_t bits = put(place, signOf(place) * value);
  return bits + (place.random >> 40) % 3 - 1;
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
Real nearHalf(const Place &place, const FloatFormat &format) {
  Real n = static_cast<Real>(place.random % 300);
  Real value = n + 0.5L;
  int side = static_cast<int>((place.random >> 20) % 3) - 1;
  return signOf(place) * (value + side * ulp(format, value));
}

uint64_t floatTie(const Place &place) {
  const FloatFormat &own = formatOf(place.dtype());
  Target target = targets[place.index % std::size(targets)];
  const FloatFormat &narrow = formatOf(target.narrow);
  if (place.index % 3 == 0 || narrow.precision >= own.precision)
    return put(place, nearHalf(place, own));
  // A significand of the target, and half a unit in its last place.
  uint64_t top = uint64_t(1) << (narrow.precision - 1);
  Real value = static_cast<Real>(2 * (top + place.random % top) + 1);
  int range = std::min(narrow.maxExponent, own.maxExponent) - 1;
  int lowest = std::max(narrow.minExponent, own.minExponent) + 1;
  auto span = static_cast<uint64_t>(range - lowest);
  int power = lowest + static_cast<int>((place.random >> 24) % span);
  // What rounding to the format between loses, or the least that there is.
  int between = formatOf(target.between).precision;
  bool isDouble = (place.random >> 60) % 2 && between + 1 < own.precision;
  int bits = isDouble ? between + 1 : own.precision;
  Real nudge = std::ldexp(Real(1), narrow.precision + 1 - bits);
  value += nudge * (static_cast<int>((place.random >> 50) % 3) - 1);
  return put(place,
             signOf(place) * std::ldexp(value, power - narrow.precision));
}

/// Integers halfway between neighbours of a float format, and beside.
uint64_t integerTie(const Place &place) {
  auto width = static_cast<int>(bitWidth(place.dtype()));
  if (width < 8)
    return randomPattern(place);
  int precision =
      formatOf(targets[place.index % std::size(targets)].narrow).precision;
  int room = width - (isSignedInteger(place.dtype()) ? 1 : 0) - precision;
  if (room < 1)
    return randomPattern(place);
  uint64_t top = uint64_t(1) << (precision - 1);
  int shift =
      1 + static_cast<int>((place.random >> 40) % static_cast<uint64_t>(room));
  uint64_t value = (2 * (top + place.random % top) + 1) << (shift - 1);
  value += (place.random >> 50) % 3 - 1;
  return (signOf(place) < 0 ? 0 - value : value) & maskOf(place.dtype());
}

uint64_t ties(const Place &place) {
  if (place.dtype() == DType::Bool)
    return place.random & 1;
  return isFloat(place.dtype()) ? floatTie(place) : integerTie(place);
}

constexpr std::pair<std::string_view, DataSet> dataSets[] = {
    {"uniform", uniform},
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
    {"errors", uniform}};

} // namespace

DataSet findDataSet(std::string_view name) {
  for (const auto &[known, dataSet] : dataSets)
    if (known == name)
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
