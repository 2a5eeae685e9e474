// SPDX-License-Identifier: Apache-2.0
#include "PatternData.h"

#include "CaseBuilder.h"
#include "Data.h"
#include "Work.h"
#include "conformance/oracle/Format.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

namespace {

/// Of a number that the pattern repeats: the same for all locations with
/// `which`.
Real numberOf(uint64_t seed, uint64_t which) {
  return 8 * static_cast<Real>(fractionOf(randomBits(seed, which))) - 4;
}

Real plain(const Location &location) {
  return numberOf(location.seed, location.index);
}

/// In [0, 1), one for the tensor and each use.
Real share(const Location &location, uint64_t use) {
  return static_cast<Real>(fractionOf(randomBits(location.seed, ~use)));
}

uint64_t seedOfCase(const Location &location) {
  return withInput(location.seed, location.input);
}

// ---- one number after the other ----

Real pruned(const Location &location) {
  Real kept = std::exp2(-3.4L - 5.5L * share(location, 1));
  return static_cast<Real>(fractionOf(location.random)) < kept ? plain(location)
                                                               : 0;
}

Real allZero(const Location &) { return 0; }
Real allOne(const Location &) { return 1; }

Real rising(const Location &location) {
  Real step = static_cast<Real>(fractionOf(location.random)) / 2;
  auto count = static_cast<Real>(location.tensor.elementCount());
  return 8 * (static_cast<Real>(location.index) + step) / count - 4;
}

Real falling(const Location &location) { return -rising(location); }

/// Positions, or the range of the others in even steps.
Real even(const Location &location) {
  auto at = static_cast<Real>(location.index);
  if (share(location, 1) < 0.5L || !isFloat(location.dtype()))
    return std::fmod(at, 2000);
  return 8 * at / static_cast<Real>(location.tensor.elementCount()) - 4;
}

Real few(const Location &location) {
  auto count = static_cast<uint64_t>(std::exp2(2 + 3 * share(location, 1)));
  return numberOf(~location.seed, location.random % count);
}

Real positive(const Location &location) {
  constexpr Real bounds[] = {1, 4, 99, 255};
  Real bound = bounds[static_cast<size_t>(4 * share(location, 1))];
  Real number = bound * (0.01L + 0.99L * fractionOf(location.random));
  return isFloat(location.dtype()) ? number : 1 + std::fmod(number, 9);
}

Real negative(const Location &location) { return -positive(location); }

/// A mean of which the deviates change the last digits.
Real distant(const Location &location) {
  Real most = isFloat(location.dtype())
                  ? std::min(12, formatOf(location.dtype()).precision - 2)
                  : 5;
  Real mean = std::exp2(most * (0.5L + 0.5L * share(location, 1)));
  Real sign = share(location, 2) < 0.5L ? -1 : 1;
  return sign * mean + plain(location) / 8;
}

/// Whether it is the one element that is unlike the others.
bool isTheOne(const Location &location) {
  auto count = static_cast<uint64_t>(location.tensor.elementCount());
  return location.index == randomBits(location.seed, ~uint64_t(2)) % count;
}

Real oneNumber(const Location &location) {
  return isTheOne(location) ? plain(location) : 0;
}

Real oneInfinity(const Location &location) {
  if (!isTheOne(location) || !isFloat(location.dtype()))
    return plain(location);
  return share(location, 1) < 0.5L ? -INFINITY : INFINITY;
}

/// Added to scores: nothing, or so little that they do not count.
Real masked(const Location &location) {
  return location.index % 29 == 0 || location.random % 8 == 0 ? 0 : -10000;
}

// ---- matrices ----

/// Row and column in the last two axes, and the number of the matrix.
struct MatrixPlace {
  uint64_t row = 0, column = 0, matrix = 0;
};

MatrixPlace matrixPlace(const Location &location) {
  const std::vector<int64_t> &dims = location.tensor.dims;
  auto size = [&](size_t fromLast) {
    return dims.size() < fromLast
               ? uint64_t(1)
               : static_cast<uint64_t>(dims[dims.size() - fromLast]);
  };
  uint64_t line = location.index / size(1);
  return {line % size(2), location.index % size(1), line / size(2)};
}

Real symmetric(const Location &location) {
  MatrixPlace at = matrixPlace(location);
  auto [low, high] = std::minmax(at.row, at.column);
  return numberOf(location.seed, (at.matrix << 40) + (high << 20) + low);
}

Real equalRows(const Location &location) {
  return numberOf(location.seed, matrixPlace(location).column);
}

Real equalColumns(const Location &location) {
  MatrixPlace at = matrixPlace(location);
  return numberOf(location.seed, (at.matrix << 20) + at.row);
}

Real diagonal(const Location &location) {
  MatrixPlace at = matrixPlace(location);
  return at.row == at.column ? plain(location) : 0;
}

// ---- which ----

using Pattern = Real (*)(const Location &);

/// The first operand, the others, or all have the pattern, as the case draws.
template <Pattern pattern> uint64_t inSome(const Location &location) {
  uint64_t which = randomBits(seedOfCase(location), ~uint64_t(0)) % 3;
  bool has = which == 2 || (which == 0) == (location.input == 0);
  return put(location, has ? pattern(location) : plain(location));
}

struct Named {
  std::string_view name;
  Pattern pattern;
  DataSet inSome;
};

template <Pattern pattern> constexpr Named named(std::string_view name) {
  return {name, pattern, inSome<pattern>};
}

constexpr Named patterns[] = {named<pruned>("pruned"),
                              named<allZero>("all-zero"),
                              named<allOne>("all-one"),
                              named<rising>("rising"),
                              named<falling>("falling"),
                              named<few>("few-values"),
                              named<positive>("positive"),
                              named<negative>("negative"),
                              named<distant>("distant"),
                              named<masked>("masked"),
                              named<symmetric>("symmetric"),
                              named<diagonal>("diagonal"),
                              named<equalRows>("equal-rows"),
                              named<equalColumns>("equal-columns"),
                              named<even>("even"),
                              named<oneNumber>("one-number"),
                              named<oneInfinity>("one-infinity")};

/// Operands of one shape are equal.
uint64_t same(const Location &location) {
  return put(location, numberOf(seedOfCase(location), location.index));
}

/// Each operand has a pattern of its own, of those that the first release had:
/// the bytes of a case stay.
uint64_t patterned(const Location &location) {
  constexpr size_t first = 14;
  uint64_t which = randomBits(location.seed, ~uint64_t(1)) % first;
  return put(location, patterns[which].pattern(location));
}

// ---- cases ----

/// Multiply-adds and elements of a case with matrices that are square.
constexpr uint64_t maxWork = 500000;
constexpr int64_t maxElements = 20000;

bool isPossible(const Unit &unit, const SymbolValues &symbols) {
  for (const Symbol &symbol : unit.graph.symbols) {
    int64_t size = symbols.at(symbol.name);
    if (size < symbol.minimum || size > symbol.maximum ||
        size % symbol.divisor != 0)
      return false;
  }
  auto isFull = [&](ValueId value) {
    auto count = unit.graph.type(value).elementCount().evaluate(symbols);
    return count.ok() && *count > 0 && *count <= maxElements;
  };
  return std::ranges::all_of(unit.graph.inputs, isFull) &&
         std::ranges::all_of(unit.graph.outputs, isFull, &GraphOutput::value) &&
         workOf(unit.graph, symbols).macs <= maxWork;
}

/// One size for all symbols; those given where that is no case of the unit.
SymbolValues squareSizes(const Unit &unit, const SymbolValues &symbols) {
  for (int64_t size : {25, 12, 8}) {
    SymbolValues equal = symbols;
    for (auto &[name, value] : equal)
      value = size;
    if (isPossible(unit, equal))
      return equal;
  }
  return symbols;
}

} // namespace

DataSet findPatternData(std::string_view name) {
  if (name == "same")
    return same;
  if (name == "patterned")
    return patterned;
  const auto *found = std::ranges::find(patterns, name, &Named::name);
  return found == std::end(patterns) ? nullptr : found->inSome;
}

void addPatternCases(const Selection &selection, Unit &unit,
                     const SymbolValues &symbols, bool isComputedAlone) {
  auto add = [&](std::string_view dataSet, const SymbolValues &sizes) {
    unit.cases.push_back(makeCase(selection, unit.id, Depth::Standard,
                                  std::string(dataSet), sizes));
  };
  add("patterned", symbols);
  SymbolValues square = squareSizes(unit, symbols);
  if (unit.graph.inputs.size() > 1)
    add("same", square);
  if (isComputedAlone || unit.dtype != DType::F32)
    return;
  for (const Named &pattern : patterns)
    add(pattern.name, pattern.name == "symmetric" || pattern.name == "diagonal"
                          ? square
                          : symbols);
}

} // namespace backplane::conformance
