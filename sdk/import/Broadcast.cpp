// SPDX-License-Identifier: Apache-2.0
#include "Broadcast.h"

#include <algorithm>

namespace backplane::frontend {

namespace {

/// Two sizes for some values of the symbols.
struct Sample {
  int64_t a = 0, b = 0;

  bool broadcasts() const { return a == b || a == 1 || b == 1; }
  int64_t size() const { return a == 1 ? b : a; }
};

/// The values of a symbol that are tried; lengths behind strided windows are
/// positive from large ones on only.
constexpr int64_t kTried[] = {0, 1, 2, 3, 5, 16, 33, 1000, 16001};
constexpr size_t kSamples = 729;
/// Longer expressions are not tried, which would take long.
constexpr size_t kLongest = 512;

/// Values of the symbols for one sample: all combinations of up to three
/// symbols, and an even choice of those of more.
SymbolValues valuesOf(const std::set<std::string> &symbols, size_t sample) {
  SymbolValues values;
  uint64_t digits = sample;
  for (const std::string &symbol : symbols) {
    values[symbol] = kTried[digits % std::size(kTried)];
    digits = symbols.size() > 3 ? digits * 2654435761u % 4294967291u
                                : digits / std::size(kTried);
  }
  return values;
}

/// Where both are sizes.
std::vector<Sample> samplesOf(const Dim &a, const Dim &b) {
  std::set<std::string> symbols;
  a.collectSymbols(symbols);
  b.collectSymbols(symbols);
  std::vector<Sample> samples;
  for (size_t i = 0; i < kSamples; ++i) {
    SymbolValues values = valuesOf(symbols, i);
    Result<int64_t> x = a.evaluate(values), y = b.evaluate(values);
    if (x.ok() && y.ok() && *x >= 0 && *y >= 0)
      samples.push_back({*x, *y});
  }
  return samples;
}

/// Whether `free` is a symbol of its own, which may have any value of `other`.
bool canBe(const Dim &free, const Dim &other) {
  std::set<std::string> symbols;
  other.collectSymbols(symbols);
  std::optional<std::string> name = free.symbolName();
  return name && !symbols.contains(*name);
}

Dim distance(const Dim &a, const Dim &b) { return max(a - b, b - a); }

} // namespace

bool meetsInCall(const Dim &a, const Dim &b, bool apart) {
  if (!a.valid() || !b.valid())
    return false;
  if (apart)
    return true;
  if (a.str().size() + b.str().size() > kLongest)
    return false;
  bool stretched = false, equal = false;
  bool freeA = canBe(a, b), freeB = canBe(b, a);
  for (const Sample &sample : samplesOf(a, b)) {
    stretched |= sample.a != sample.b && sample.broadcasts();
    equal |= (sample.a == sample.b && sample.a > 1) ||
             (freeA && sample.b > 1) || (freeB && sample.a > 1);
  }
  // A number meets few of the sizes that are tried.
  bool number = a.constant() || b.constant();
  const Dim &other = a.constant() ? b : a;
  return stretched && !equal && (!number || min(other, Dim(1)) == other);
}

Dim sizeInCall(const Dim &a, const Dim &b) {
  for (const Dim *side : {&a, &b})
    if (side->constant())
      return *side;
  std::vector<Sample> samples = samplesOf(a, b);
  auto isAlways = [&](auto size) {
    return std::all_of(
        samples.begin(), samples.end(), [&](const Sample &sample) {
          return !sample.broadcasts() || size(sample) == sample.size();
        });
  };
  if (isAlways([](const Sample &s) { return s.a; }))
    return a;
  if (isAlways([](const Sample &s) { return s.b; }))
    return b;
  if (isAlways([](const Sample &s) { return s.a * s.b; }))
    return a * b;
  return max(a, b) * min(Dim(1), min(a, b));
}

std::pair<Dim, Dim> fitsInCall(const Dim &own, const Dim &size) {
  if (own == min(Dim(1), size))
    return {Dim(0), Dim(0)};
  return {min(distance(own, size), distance(own, Dim(1))), Dim(0)};
}

} // namespace backplane::frontend
