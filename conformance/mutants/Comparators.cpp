// SPDX-License-Identifier: Apache-2.0
//
// Mutants 52 to 55: broken comparators, which the checks at the start of every
// run must find.
#include "Mutant.h"

namespace backplane::mutants {

ByNumber<conformance::Weakness> comparatorMutants() {
  return {{52, {.comparesExpectedWithItself = true}},
          {53, {.toleranceFactor = 1000}},
          {54, {.onlyFirst = 1024}},
          {55, {.passesWhatItSkips = true}}};
}

} // namespace backplane::mutants
