// SPDX-License-Identifier: Apache-2.0
#include "ValueData.h"

#include "Data.h"
#include "conformance/oracle/Format.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

namespace {

/// Further random bits of the same element, one draw for each use of them.
uint64_t draw(const Location &location, uint64_t use) {
  return randomBits(location.random, use);
}

Real between(uint64_t random, Real low, Real high) {
  return low + (high - low) * static_cast<Real>(fractionOf(random));
}

Real sign(uint64_t random) { return random % 2 ? -1 : 1; }

/// Whether the tensor is the second operand of products: its numbers are near
/// 1, so that products stay in the range of the first.
bool isMultiplied(const Location &location) {
  return location.input != 0 && location.rule.terms != Dim(0);
}

/// Exponents that a tensor may have: those of 1e-30 to 1e30 in f32, a like
/// share of the range elsewhere; less where numbers are squared.
struct Reach {
  Real low, high;
};

Reach reachOf(const Location &location, Real share) {
  const FloatFormat &format = formatOf(location.dtype());
  return {share * static_cast<Real>(format.minExponent),
          share * static_cast<Real>(format.maxExponent)};
}

constexpr Real wholeReach = 0.78L, halfReach = 0.4L, factorReach = 0.15L;

Real shareOf(const Location &location) {
  return isMultiplied(location)          ? factorReach
         : location.rule.terms != Dim(0) ? wholeReach
                                         : halfReach;
}

// ---- integers ----

uint64_t railOf(const Location &location) {
  bool isTop = draw(location, 1) % 2;
  uint64_t mask = maskOf(location.dtype());
  if (isUnsignedInteger(location.dtype()))
    return isTop ? mask : 0;
  return isTop ? mask >> 1 : mask ^ (mask >> 1);
}

/// Both rails, numbers beside them, powers of two, and any others.
uint64_t integerMixture(const Location &location) {
  uint64_t mask = maskOf(location.dtype());
  if (location.dtype() == DType::Bool)
    return location.random & 1;
  uint64_t other = draw(location, 2);
  switch (location.random % 5) {
  case 0:
    return railOf(location);
  case 1:
    return (railOf(location) + other % 5 - 2) & mask;
  case 2:
    return ((uint64_t(1) << other % bitWidth(location.dtype())) -
            other / 64 % 2) &
           mask;
  default:
    return other & mask;
  }
}

// ---- floats ----

uint64_t magnitude(const Location &location, Real share) {
  Reach reach = reachOf(location, share);
  Real value = std::exp2(between(draw(location, 1), reach.low, reach.high));
  return put(location, sign(draw(location, 2)) * value);
}

uint64_t magnitudes(const Location &location) {
  return magnitude(location, shareOf(location));
}

uint64_t wholeMagnitudes(const Location &location) {
  return magnitude(location, wholeReach);
}

/// From 1e4, or what is left of the range above a 64th of it, over 10 binades.
uint64_t large(const Location &location) {
  if (isMultiplied(location))
    return put(location,
               sign(draw(location, 2)) * between(draw(location, 1), 0.1L, 1));
  Real top = static_cast<Real>(formatOf(location.dtype()).maxExponent);
  Real low = std::min(std::log2(Real(1e4)), top - 6);
  Real high = std::min(low + 10, top - 1);
  return put(location, sign(draw(location, 2)) *
                           std::exp2(between(draw(location, 1), low, high)));
}

/// All numbers up to one bound, which the seed draws.
uint64_t scaled(const Location &location) {
  Reach reach = reachOf(location, shareOf(location));
  Real bound = std::exp2(between(randomBits(location.seed, ~uint64_t(0)),
                                 reach.low + 2, reach.high));
  return put(location, sign(draw(location, 2)) * bound *
                           between(draw(location, 1), 0.001L, 1));
}

/// N(0, 1), in few channels times 100 to 1000; weights are N(0, 1/16). Channels
/// are axis 1 of four and more axes, else the last one.
uint64_t outliers(const Location &location) {
  Real value = normalDeviate(location.random);
  if (isMultiplied(location))
    return put(location, value / 4);
  const std::vector<int64_t> &dims = location.tensor.dims;
  uint64_t inner = 1;
  for (size_t axis = 2; dims.size() > 3 && axis < dims.size(); ++axis)
    inner *= static_cast<uint64_t>(dims[axis]);
  uint64_t count = dims.empty()      ? 1
                   : dims.size() > 3 ? static_cast<uint64_t>(dims[1])
                                     : static_cast<uint64_t>(dims.back());
  uint64_t channel = location.index / inner % count;
  uint64_t chosen = randomBits(location.seed, channel);
  bool isOutlier = channel == randomBits(location.seed, ~uint64_t(0)) % count ||
                   !(chosen % 32);
  Real most = 0.6L * static_cast<Real>(formatOf(location.dtype()).maxExponent);
  Real power = between(chosen >> 8, std::log2(Real(100)), std::log2(Real(1e3)));
  return put(location,
             isOutlier ? value * std::exp2(std::min(power, most)) : value);
}

/// Subnormal numbers, and normal ones close to them; factors are about 1.
uint64_t subnormals(const Location &location) {
  if (isMultiplied(location))
    return put(location,
               sign(draw(location, 2)) * between(draw(location, 1), 0.5L, 2));
  uint64_t normal =
      encode(location.dtype(), smallest(formatOf(location.dtype()), true));
  uint64_t magnitude = draw(location, 1) % (normal + normal / 2 + 2);
  uint64_t top = uint64_t(1) << (bitWidth(location.dtype()) - 1);
  return magnitude | (draw(location, 2) % 2 ? top : 0);
}

/// A NaN of any sign, quiet or signalling, with any payload.
uint64_t anyNaN(const Location &location) {
  const FloatFormat &format = formatOf(location.dtype());
  uint64_t top = uint64_t(1) << (bitWidth(location.dtype()) - 1);
  uint64_t isNegative = draw(location, 3) % 2 ? top : 0;
  bool isSigned = std::isnan(decode(location.dtype(), top - 1));
  if (!format.hasInfinity)
    return isSigned ? (top - 1) | isNegative
                    : encode(location.dtype(), std::nanl(""));
  uint64_t significand = (uint64_t(1) << (format.precision - 1)) - 1;
  uint64_t payload = draw(location, 4) & significand;
  return ((top - 1) & ~significand) | std::max<uint64_t>(payload, 1) |
         isNegative;
}

/// NaN in the first operand, so few that most lines have none.
uint64_t nans(const Location &location) {
  const auto &dims = location.tensor.dims;
  int64_t line = std::max(location.terms, dims.empty() ? 1 : dims.back());
  auto odds = static_cast<uint64_t>(std::max<int64_t>(2 * line, 8));
  if (location.input == 0 && draw(location, 1) % odds == 0)
    return anyNaN(location);
  return put(location, between(draw(location, 2), -4, 4));
}

/// Zeros of both signs, and other numbers among them.
uint64_t zeros(const Location &location) {
  if (draw(location, 1) % 4 == 0)
    return put(location, between(draw(location, 2), -4, 4));
  uint64_t top = uint64_t(1) << (bitWidth(location.dtype()) - 1);
  return draw(location, 3) % 2 ? top : 0;
}

/// Each number is followed by its negative, half the digits apart. Factors are
/// as close to 1.
uint64_t cancellation(const Location &location) {
  int half = formatOf(location.dtype()).precision / 2;
  Real nudge = std::ldexp(between(draw(location, 1), -1, 1), -half);
  if (isMultiplied(location))
    return put(location, 1 + nudge);
  Real value = between(randomBits(location.seed, location.index / 2), 10, 1000);
  value = std::fmod(value, formatOf(location.dtype()).max / 8);
  return put(location, location.index % 2 ? -value * (1 + nudge) : value);
}

/// The largest numbers, and halves on both sides of the rails of 8 bits.
uint64_t rails(const Location &location) {
  if (isMultiplied(location))
    return put(location, sign(draw(location, 1)));
  if (location.random % 8 == 0)
    return summable(location,
                    put(location, sign(draw(location, 1)) *
                                      formatOf(location.dtype()).max));
  return put(location, std::round(between(draw(location, 1), -520, 520)) / 2);
}

constexpr DataSet floatSets[] = {wholeMagnitudes, large,  scaled, outliers,
                                 subnormals,      anyNaN, zeros,  rails};

uint64_t floatMixture(const Location &location) {
  return floatSets[draw(location, 5) % std::size(floatSets)](location);
}

/// Integers have no kinds but one.
template <DataSet ofFloats> uint64_t byKind(const Location &location) {
  return isFloat(location.dtype()) ? ofFloats(location)
                                   : integerMixture(location);
}

/// Integers at both rails and nowhere else.
uint64_t railsByKind(const Location &location) {
  if (isFloat(location.dtype()))
    return rails(location);
  return location.dtype() == DType::Bool ? location.random & 1
                                         : railOf(location);
}

constexpr NamedDataSet dataSets[] = {{"mixture", byKind<floatMixture>},
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

DataSet findValueData(std::string_view name) { return findIn(dataSets, name); }

} // namespace backplane::conformance
