// SPDX-License-Identifier: Apache-2.0
#include "ValueData.h"

#include "Data.h"
#include "conformance/oracle/Format.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

namespace {

uint64_t put(const Place &place, Real value) {
  return bitsOfNumber(place.dtype(), value);
}

/// Further random bits of the same element, one draw for each use of them.
uint64_t draw(const Place &place, uint64_t use) {
  return randomBits(place.random, use);
}

Real between(uint64_t random, Real low, Real high) {
  return low + (high - low) * static_cast<Real>(fractionOf(random));
}

Real sign(uint64_t random) { return random % 2 ? -1 : 1; }

/// Whether the tensor is the second operand of products: its numbers are near
/// 1, so that products stay in the range of the first.
bool isMultiplied(const Place &place) {
  return place.input != 0 && place.rule.terms != Dim(0);
}

/// Exponents that a tensor may have: those of 1e-30 to 1e30 in f32, a like
/// share of the range elsewhere; less where numbers are squared.
struct Reach {
  Real low, high;
};

Reach reachOf(const Place &place, Real share) {
  const FloatFormat &format = formatOf(place.dtype());
  return {share * static_cast<Real>(format.minExponent),
          share * static_cast<Real>(format.maxExponent)};
}

constexpr Real wholeReach = 0.78L, halfReach = 0.4L, factorReach = 0.15L;

Real shareOf(const Place &place) {
  return isMultiplied(place)          ? factorReach
         : place.rule.terms != Dim(0) ? wholeReach
                                      : halfReach;
}

// ---- integers ----

uint64_t railOf(const Place &place) {
  bool isTop = draw(place, 1) % 2;
  uint64_t mask = maskOf(place.dtype());
  if (isUnsignedInteger(place.dtype()))
    return isTop ? mask : 0;
  return isTop ? mask >> 1 : mask ^ (mask >> 1);
}

/// Both rails, numbers beside them, powers of two, and any others.
uint64_t integerMixture(const Place &place) {
  uint64_t mask = maskOf(place.dtype());
  if (place.dtype() == DType::Bool)
    return place.random & 1;
  uint64_t other = draw(place, 2);
  switch (place.random % 5) {
  case 0:
    return railOf(place);
  case 1:
    return (railOf(place) + other % 5 - 2) & mask;
  case 2:
    return ((uint64_t(1) << other % bitWidth(place.dtype())) - other / 64 % 2) &
           mask;
  default:
    return other & mask;
  }
}

// ---- floats ----

uint64_t magnitude(const Place &place, Real share) {
  Reach reach = reachOf(place, share);
  Real value = std::exp2(between(draw(place, 1), reach.low, reach.high));
  return put(place, sign(draw(place, 2)) * value);
}

uint64_t magnitudes(const Place &place) {
  return magnitude(place, shareOf(place));
}

uint64_t wholeMagnitudes(const Place &place) {
  return magnitude(place, wholeReach);
}

/// From 1e4, or what is left of the range above a 64th of it, over 10 binades.
uint64_t large(const Place &place) {
  if (isMultiplied(place))
    return put(place, sign(draw(place, 2)) * between(draw(place, 1), 0.1L, 1));
  Real top = static_cast<Real>(formatOf(place.dtype()).maxExponent);
  Real low = std::min(std::log2(Real(1e4)), top - 6);
  Real high = std::min(low + 10, top - 1);
  return put(place, sign(draw(place, 2)) *
                        std::exp2(between(draw(place, 1), low, high)));
}

/// All numbers up to one bound, which the seed draws.
uint64_t scaled(const Place &place) {
  Reach reach = reachOf(place, shareOf(place));
  Real bound = std::exp2(
      between(randomBits(place.seed, ~uint64_t(0)), reach.low + 2, reach.high));
  return put(place,
             sign(draw(place, 2)) * bound * between(draw(place, 1), 0.001L, 1));
}

/// N(0, 1), in few channels times 100 to 1000; weights are N(0, 1/16). Channels
/// are axis 1 of four and more axes, else the last one.
uint64_t outliers(const Place &place) {
  Real value = normalDeviate(place.random);
  if (isMultiplied(place))
    return put(place, value / 4);
  const std::vector<int64_t> &dims = place.tensor.dims;
  uint64_t inner = 1;
  for (size_t axis = 2; dims.size() > 3 && axis < dims.size(); ++axis)
    inner *= static_cast<uint64_t>(dims[axis]);
  uint64_t count = dims.empty()      ? 1
                   : dims.size() > 3 ? static_cast<uint64_t>(dims[1])
                                     : static_cast<uint64_t>(dims.back());
  uint64_t channel = place.index / inner % count;
  uint64_t chosen = randomBits(place.seed, channel);
  bool isOutlier =
      channel == randomBits(place.seed, ~uint64_t(0)) % count || !(chosen % 32);
  Real most = 0.6L * static_cast<Real>(formatOf(place.dtype()).maxExponent);
  Real power = between(chosen >> 8, std::log2(Real(100)), std::log2(Real(1e3)));
  return put(place,
             isOutlier ? value * std::exp2(std::min(power, most)) : value);
}

/// Subnormal numbers, and normal ones close to them; factors are about 1.
uint64_t subnormals(const Place &place) {
  if (isMultiplied(place))
    return put(place, sign(draw(place, 2)) * between(draw(place, 1), 0.5L, 2));
  uint64_t normal =
      encode(place.dtype(), smallest(formatOf(place.dtype()), true));
  uint64_t magnitude = draw(place, 1) % (normal + normal / 2 + 2);
  uint64_t top = uint64_t(1) << (bitWidth(place.dtype()) - 1);
  return magnitude | (draw(place, 2) % 2 ? top : 0);
}

/// A NaN of any sign, quiet or signalling, with any payload.
uint64_t anyNaN(const Place &place) {
  const FloatFormat &format = formatOf(place.dtype());
  uint64_t top = uint64_t(1) << (bitWidth(place.dtype()) - 1);
  uint64_t isNegative = draw(place, 3) % 2 ? top : 0;
  if (!format.hasInfinity)
    return (top - 1) | isNegative;
  uint64_t significand = (uint64_t(1) << (format.precision - 1)) - 1;
  uint64_t payload = draw(place, 4) & significand;
  return ((top - 1) & ~significand) | std::max<uint64_t>(payload, 1) |
         isNegative;
}

/// NaN in the first operand, so few that most lines have none.
uint64_t nans(const Place &place) {
  const auto &dims = place.tensor.dims;
  int64_t line = std::max(place.terms, dims.empty() ? 1 : dims.back());
  auto odds = static_cast<uint64_t>(std::max<int64_t>(2 * line, 8));
  if (place.input == 0 && draw(place, 1) % odds == 0)
    return anyNaN(place);
  return put(place, between(draw(place, 2), -4, 4));
}

/// Zeros of both signs, and other numbers among them.
uint64_t zeros(const Place &place) {
  if (draw(place, 1) % 4 == 0)
    return put(place, between(draw(place, 2), -4, 4));
  uint64_t top = uint64_t(1) << (bitWidth(place.dtype()) - 1);
  return draw(place, 3) % 2 ? top : 0;
}

/// Each number is followed by its negative, half the digits apart. Factors are
/// as close to 1.
uint64_t cancellation(const Place &place) {
  int half = formatOf(place.dtype()).precision / 2;
  Real nudge = std::ldexp(between(draw(place, 1), -1, 1), -half);
  if (isMultiplied(place))
    return put(place, 1 + nudge);
  Real value = between(randomBits(place.seed, place.index / 2), 10, 1000);
  value = std::fmod(value, formatOf(place.dtype()).max / 8);
  return put(place, place.index % 2 ? -value * (1 + nudge) : value);
}

/// The largest numbers, and halves on both sides of the rails of 8 bits.
uint64_t rails(const Place &place) {
  if (isMultiplied(place))
    return put(place, sign(draw(place, 1)));
  if (place.random % 8 == 0)
    return put(place, sign(draw(place, 1)) * formatOf(place.dtype()).max);
  return put(place, std::round(between(draw(place, 1), -520, 520)) / 2);
}

constexpr DataSet floatSets[] = {wholeMagnitudes, large,  scaled, outliers,
                                 subnormals,      anyNaN, zeros,  rails};

uint64_t floatMixture(const Place &place) {
  return floatSets[draw(place, 5) % std::size(floatSets)](place);
}

/// Integers have no kinds but one.
template <DataSet ofFloats> uint64_t byKind(const Place &place) {
  return isFloat(place.dtype()) ? ofFloats(place) : integerMixture(place);
}

/// Integers at both rails and nowhere else.
uint64_t railsByKind(const Place &place) {
  if (isFloat(place.dtype()))
    return rails(place);
  return place.dtype() == DType::Bool ? place.random & 1 : railOf(place);
}

constexpr std::pair<std::string_view, DataSet> dataSets[] = {
    {"mixture", byKind<floatMixture>},
    {"magnitudes", byKind<magnitudes>},
    {"large", byKind<large>},
    {"scaled", byKind<scaled>},
    {"outliers", byKind<outliers>},
    {"subnormals", byKind<subnormals>},
    {"nans", byKind<nans>},
    {"zeros", byKind<zeros>},
    {"cancellation", byKind<cancellation>},
    {"rails", railsByKind}};

} // namespace

DataSet findValueData(std::string_view name) {
  for (const auto &[known, dataSet] : dataSets)
    if (known == name)
      return dataSet;
  return nullptr;
}

} // namespace backplane::conformance
