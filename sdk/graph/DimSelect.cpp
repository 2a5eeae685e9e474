// SPDX-License-Identifier: Apache-2.0
//
// Division towards zero, comparison and choice. A comparison is 1 or 0 and made
// of min and max, so that it needs no atom of its own.
#include "DimNode.h"

namespace backplane {

namespace {

Dim negative(const Dim &a) { return Dim(0) - a; }

/// a / b of plain numbers; none where 64 bits have no result.
std::optional<Dim> quotientOf(std::optional<int64_t> a,
                              std::optional<int64_t> b) {
  if (!a || !b || *b == 0 || (*a == INT64_MIN && *b == -1))
    return std::nullopt;
  return Dim(*a / *b);
}

bool notPositive(const Dim &a) { return negative(a).nonNegative(); }

} // namespace

Dim truncDiv(const Dim &a, const Dim &b) {
  if (!a.valid() || !b.valid() || b == Dim(0))
    return makeTruncDiv(a, b);
  if (std::optional<Dim> quotient = quotientOf(a.constant(), b.constant()))
    return *quotient;
  if (std::optional<Dim> quotient = exactQuotient(a, b))
    return *quotient;
  if (b.nonNegative() && a.nonNegative())
    return floorDiv(a, b);
  if (notPositive(b))
    return negative(truncDiv(a, negative(b)));
  if (b.nonNegative() && notPositive(a))
    return negative(floorDiv(negative(a), b));
  return makeTruncDiv(a, b);
}

Dim less(const Dim &a, const Dim &b) { return min(Dim(1), max(Dim(0), b - a)); }

Dim equal(const Dim &a, const Dim &b) {
  return Dim(1) - min(Dim(1), max(a - b, b - a));
}

Dim select(const Dim &condition, const Dim &a, const Dim &b) {
  bool valid = condition.valid() && a.valid() && b.valid();
  if (valid && condition.constant())
    return *condition.constant() != 0 ? a : b;
  return valid && a == b ? a : makeSelect(condition, a, b);
}

} // namespace backplane
