// SPDX-License-Identifier: Apache-2.0
#include "ProbeData.h"

#include "conformance/oracle/Format.h"

#include <cmath>

namespace backplane::conformance::probe {

Shape shapeOf(std::string_view opClass, DType dtype) {
  bool isProduct = opClass == "DOT";
  int unit = isProduct ? productUnit : sumUnit;
  if (dtype == DType::F16)
    return {unit, isProduct ? 30 - unit : 15 - unit};
  return {unit, 60};
}

std::vector<int> narrowWidths(DType dtype) {
  constexpr int tf32 = 11, bf16 = 8;
  std::vector<int> widths;
  for (int narrow : {tf32, bf16})
    if (narrow < formatOf(dtype).precision)
      widths.push_back(narrow);
  return widths;
}

namespace {

Real power(int exponent) { return std::ldexp(Real(1), exponent); }

/// Sums are of one operand unless there are two of rank 3 (DOT).
bool isProductOperand(const Location &location) {
  return location.rule.contracted != 0;
}

/// One of the two factors of sign * 2^exponent; the number itself in a sum.
Real factor(const Location &location, int exponent, Real sign) {
  if (!isProductOperand(location))
    return sign * power(exponent);
  int half = exponent >= 0 ? exponent / 2 : -(-exponent / 2);
  return location.input == 0 ? sign * power(exponent - half) : power(half);
}

int unitOf(const Location &location) {
  return isProductOperand(location) ? productUnit : sumUnit;
}

/// Line 8 * (b - 1) + p: 2^b units and minus 2^b units at two of the locations,
/// single units elsewhere. The distances are odd, so that no tree of powers of
/// two brings both together first.
uint64_t accumulator(const Location &location) {
  size_t line = location.index / terms, k = location.index % terms;
  int bits = static_cast<int>(line / placements) + 1;
  constexpr size_t locations[placements] = {0, 1, 7, 16, 31, 33, 62, 63};
  size_t first = locations[line % placements];
  constexpr size_t distances[placements] = {5, 11, 23, 37, 13, 29, 41, 3};
  size_t second = (first + distances[line % placements]) % terms;
  int unit = unitOf(location);
  if (k != first && k != second)
    return put(location, factor(location, unit, 1));
  return put(location, factor(location, unit + bits, k == first ? 1 : -1));
}

/// Line 8 * (b - 1) + p: 2^b units, 1.5 units and minus 2^b units at three
/// locations, zeros elsewhere.
uint64_t rounding(const Location &location) {
  size_t line = location.index / terms, k = location.index % terms;
  int bits = static_cast<int>(line / placements) + 1;
  constexpr size_t locations[placements][3] = {
      {0, 1, 2}, {0, 16, 32}, {0, 8, 16}, {0, 4, 8},
      {0, 2, 4}, {0, 32, 63}, {1, 0, 63}, {16, 0, 63}};
  const size_t (&at)[3] = locations[line % placements];
  int unit = unitOf(location);
  if (k == at[1]) {
    Real one = factor(location, unit, 1);
    return put(location, location.input == 0 ? one * 1.5L : one);
  }
  if (k != at[0] && k != at[2])
    return put(location, 0);
  return put(location, factor(location, unit + bits, k == at[0] ? 1 : -1));
}

/// 1 + 2^-(bits-1) times 1 at one location of a line, in turns either operand.
uint64_t operandOf(const Location &location, int bits) {
  size_t line = location.index / terms, k = location.index % terms;
  if (k != line % terms)
    return put(location, 0);
  bool isWhole = (line / terms) % 2 == location.input;
  return put(location, isWhole ? 1 + power(1 - bits) : 1);
}

uint64_t operands(const Location &location) {
  return operandOf(location, formatOf(location.dtype()).precision);
}

uint64_t narrowOperands(const Location &location) {
  return operandOf(
      location,
      narrowWidths(location.dtype())[location.index / terms / linesOfWidth]);
}

/// 1 + 2^-(p-1) times 1.75 is a quarter of a unit below 1.75 + 2^-(p-2).
uint64_t productRounding(const Location &location) {
  int precision = formatOf(location.dtype()).precision;
  return put(location, location.input == 0 ? 1 + power(1 - precision) : 1.75L);
}

/// The numbers of a flushing probe: a product of two, a quotient, or a sum of
/// the first two terms of a line.
struct Flush {
  Real product[2], quotient[2], sum[2];
};

uint64_t flushing(const Location &location, const Flush &flush) {
  Real normal = smallest(formatOf(location.dtype()), true);
  size_t k = location.index % terms;
  bool isLine = location.tensor.dims.size() > 1;
  if (!isLine) {
    const Real(&pair)[2] = location.rule.kind == InputRule::Kind::Divisor
                               ? flush.quotient
                               : flush.product;
    return put(location, location.input == 0 ? pair[0] * normal : pair[1]);
  }
  if (isProductOperand(location)) {
    bool isHere = k == location.index / terms % terms;
    Real value =
        location.input == 0 ? flush.product[0] * normal : flush.product[1];
    return put(location, isHere ? value : 0);
  }
  return put(location, k < 2 ? flush.sum[k] * normal : 0);
}

uint64_t flushInput(const Location &location) {
  return flushing(location, {{0.5L, 4}, {0.5L, 0.125L}, {0.75L, 0.75L}});
}

uint64_t flushOutput(const Location &location) {
  return flushing(location, {{1, 0.5L}, {1, 2}, {1.5L, -1}});
}

/// (1 + 2^-h)^2 - (1 + 2^(1-h)): 2^-2h, which a rounded product lacks.
uint64_t contraction(const Location &location) {
  int half = formatOf(location.dtype()).precision / 2;
  half += formatOf(location.dtype()).precision % 2;
  return put(location,
             location.input < 2 ? 1 + power(-half) : -1 - power(1 - half));
}

uint64_t accumulatorRounding(const Location &location) {
  return location.tensor.dims.size() > 1 ? rounding(location)
                                         : productRounding(location);
}

constexpr NamedDataSet dataSets[] = {{"probe-accumulator", accumulator},
                                     {"probe-rounding", accumulatorRounding},
                                     {"probe-operands", operands},
                                     {"probe-narrow-operands", narrowOperands},
                                     {"probe-flush-input", flushInput},
                                     {"probe-flush-output", flushOutput},
                                     {"probe-contraction", contraction}};

} // namespace

} // namespace backplane::conformance::probe

namespace backplane::conformance {

DataSet findProbeData(std::string_view name) {
  return findIn(probe::dataSets, name);
}

} // namespace backplane::conformance
