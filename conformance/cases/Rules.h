// SPDX-License-Identifier: Apache-2.0
//
// Rules.h: rules for inputs that several families of units have.
#ifndef BACKPLANE_CONFORMANCE_CASES_RULES_H
#define BACKPLANE_CONFORMANCE_CASES_RULES_H

#include "Case.h"

namespace backplane::conformance {

/// Random numbers in [low, high], whatever the data set.
inline InputRule within(double low, double high) {
  InputRule rule;
  rule.kind = InputRule::Kind::Within;
  rule.low = low;
  rule.high = high;
  return rule;
}

/// Sums run over so many products or addends.
inline InputRule termsOf(Dim terms) {
  InputRule rule;
  rule.terms = std::move(terms);
  return rule;
}

/// Integers in [0, bound).
inline InputRule indexBelow(Dim bound) {
  InputRule rule;
  rule.kind = InputRule::Kind::Index;
  rule.bound = std::move(bound);
  return rule;
}

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_RULES_H
