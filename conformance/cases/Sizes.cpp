// SPDX-License-Identifier: Apache-2.0
#include "Sizes.h"

#include "Data.h"
#include "DataSets.h"
#include "Work.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

namespace {

/// Multiply-adds of a case: a product of two matrices of 4,097 by 4,097 at
/// standard depth, one of 8,192 by 8,192 at full.
constexpr double standardWork = 4097.0 * 4097 * 4097;
constexpr double fullWork = 8192.0 * 8192 * 8192;
/// Elements of a value: reductions of 16 M.
constexpr double standardElements = 1 << 24;
constexpr double fullElements = 1 << 27;
/// Multiply-adds that a device with a small budget does for one element moved.
constexpr double workPerElement = 64;
/// What the oracle may have to compute of one case (Repeats.h).
constexpr double oracleWork = 1 << 25, oracleElements = 1 << 20;
/// Slots in which all sizes are large.
constexpr size_t jointSlots = 4;

// ---- classes of numbers ----

enum class Class {
  // Near any number there is one of these.
  Any,
  Prime,
  Tiles,
  BelowTiles,
  AboveTiles,
  // These may be half as large.
  PowerOfTwo,
  BelowPower,
  AbovePower,
};
constexpr size_t denseClasses = 5, classes = 8;
constexpr int64_t tile = 64;
/// Of the first slots, in which all sizes are of one class; the last one draws.
constexpr Class jointClasses[] = {Class::Any, Class::PowerOfTwo, Class::Prime};

int64_t powerBelow(int64_t number) {
  int64_t power = 1;
  while (power <= number / 2)
    power *= 2;
  return power;
}

int64_t primeBelow(int64_t number) {
  while (number > 2 && !isPrime(number))
    --number;
  return std::max<int64_t>(number, 1);
}

/// The number of a class nearest below.
int64_t toClass(Class kind, int64_t number) {
  int64_t tiles = number / tile * tile;
  switch (kind) {
  case Class::Any:
    return number;
  case Class::Prime:
    return primeBelow(number);
  case Class::PowerOfTwo:
    return powerBelow(number);
  case Class::AbovePower:
    return number < 3 ? number : powerBelow(number - 1) + 1;
  case Class::BelowPower:
    return number < 3 ? number : powerBelow(number + 1) - 1;
  case Class::Tiles:
    return tiles ? tiles : number;
  case Class::BelowTiles:
    return tiles ? tiles - 1 : number;
  case Class::AboveTiles:
    return number > tile ? (number - 1) / tile * tile + 1 : number;
  }
  return number;
}

/// Where an axis lies in its range, from 0 to 1 in logarithms, and its class.
struct Draw {
  double place;
  Class kind;
};

std::vector<Draw> draw(const std::vector<Axis> &axes, size_t slot,
                       uint64_t seed) {
  auto random = [&, next = uint64_t(0)]() mutable {
    return randomBits(seed, next++);
  };
  auto kind = Class(random() % classes);
  bool isJoint = slot < jointSlots;
  if (slot < std::size(jointClasses))
    kind = jointClasses[slot];
  std::vector<Draw> draws;
  for (size_t i = 0; i < axes.size(); ++i) {
    double place = fractionOf(random());
    // Half of the other slots have one class for all axes.
    auto own = isJoint || slot % 2 ? kind : Class(random() % classes);
    bool isPinned = !isJoint && slot - jointSlots == i;
    if (isJoint)
      place = 0.985 + 0.015 * place;
    else if (isPinned)
      place = 0.995 + 0.005 * place;
    draws.push_back({place, isPinned ? Class(random() % denseClasses) : own});
  }
  return draws;
}

/// The largest scale up to 1 whose values fit.
template <typename V> double largestScale(V values, const Fits &fits) {
  if (fits(values(1)))
    return 1;
  double low = 0, high = 1;
  for (int step = 0; step < 20; ++step) {
    double middle = (low + high) / 2;
    (fits(values(middle)) ? low : high) = middle;
  }
  return low;
}

/// The values of draws whose places are scaled.
SymbolValues valuesOf(const std::vector<Axis> &axes,
                      const std::vector<Draw> &draws, double scale,
                      std::optional<size_t> pinned) {
  SymbolValues values;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Axis &axis = axes[i];
    double place = draws[i].place * (pinned == i ? 1 : scale);
    double low = std::log(static_cast<double>(axis.low)),
           high = std::log(static_cast<double>(axis.high));
    auto value =
        static_cast<int64_t>(std::lround(std::exp(low + place * (high - low))));
    value = toClass(draws[i].kind, value / axis.divisor) * axis.divisor;
    values[axis.symbol] = std::clamp(value, axis.low, axis.high);
  }
  return values;
}

} // namespace

Limits limitsOf(Depth depth, uint64_t budget) {
  bool isFull = depth == Depth::Full;
  Limits limits = {isFull ? fullWork : standardWork,
                   isFull ? fullElements : standardElements};
  auto most = static_cast<double>(budget);
  if (budget > 0 && most < limits.work) {
    limits.work = most;
    limits.elements = std::min(limits.elements, most / workPerElement);
  }
  return limits;
}

namespace {

/// Bytes of the largest value.
double bytesOf(const Graph &graph, const SymbolValues &symbols) {
  double most = 0;
  for (const backplane::Value &value : graph.values) {
    auto bytes = value.type.bytes().evaluate(symbols);
    most = std::max(most, bytes ? static_cast<double>(*bytes) : 0);
  }
  return most;
}

} // namespace

bool isWithin(const Limits &limits, const Graph &graph,
              const SymbolValues &symbols) {
  Work work = workOf(graph, symbols);
  return static_cast<double>(work.macs) <= limits.work &&
         static_cast<double>(work.elements) <= limits.elements &&
         (limits.bytes == 0 || bytesOf(graph, symbols) <= limits.bytes);
}

bool isPrime(int64_t number) {
  if (number < 4)
    return number > 1;
  for (int64_t divisor = 2; divisor * divisor <= number; ++divisor)
    if (number % divisor == 0)
      return false;
  return true;
}

bool isWithinOracle(const Graph &graph,
                    const std::vector<std::string> &repeated,
                    SymbolValues symbols, double elements) {
  for (const std::string &symbol : repeated)
    symbols[symbol] = std::min<int64_t>(symbols[symbol], 2);
  return isWithin({oracleWork, elements > 0 ? elements : oracleElements}, graph,
                  symbols);
}

SymbolValues drawSizes(const std::vector<Axis> &axes, size_t slot,
                       uint64_t seed, const Fits &fits) {
  std::vector<Draw> draws = draw(axes, slot, seed);
  std::optional<size_t> pinned;
  if (slot >= jointSlots && slot - jointSlots < axes.size())
    pinned = slot - jointSlots;
  // First the others give way, then the pinned axis too.
  for (;;) {
    auto values = [&](double scale) {
      return valuesOf(axes, draws, scale, pinned);
    };
    SymbolValues best = values(largestScale(values, fits));
    if (fits(best) || !pinned)
      return best;
    pinned.reset();
  }
}

SymbolValues fitSizes(const std::vector<Axis> &axes, SymbolValues sizes,
                      const Fits &fits) {
  auto values = [&](double scale) {
    SymbolValues scaled = sizes;
    for (const Axis &axis : axes) {
      int64_t &value = scaled[axis.symbol];
      auto smaller = static_cast<int64_t>(static_cast<double>(value) * scale);
      smaller = smaller / axis.divisor * axis.divisor;
      value = std::clamp(smaller, std::min(axis.low, value), value);
    }
    return scaled;
  };
  return values(largestScale(values, fits));
}

size_t slotsOf(const std::vector<Axis> &axes) {
  return jointSlots + axes.size() + 2;
}

} // namespace backplane::conformance
