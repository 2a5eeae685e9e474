// SPDX-License-Identifier: Apache-2.0
//
// Mutants 52 to 55: broken comparators, which the checks at the start of every
// run must find.
#include "Mutant.h"

namespace backplane::mutants {

namespace {

Mutant broken(int number, std::string_view title, std::string_view description,
              conformance::Weakness weakness) {
  return {.number = number,
          .family = Family::Comparator,
          .title = title,
          .description = description,
          .weakness = weakness,
          .kills = 1};
}

} // namespace

std::vector<Mutant> comparatorMutants() {
  return {
      broken(52, "NaN tautology",
             "the comparator asks the expected value whether it is NaN",
             {.comparesExpectedWithItself = true}),
      broken(53, "limits times 1000", "all limits are 1000 times as wide",
             {.toleranceFactor = 1000}),
      broken(54, "only the first elements", "1024 elements are compared",
             {.onlyFirst = 1024}),
      broken(55, "skipped is passed",
             "an output of wrong dtype, dims or size passes",
             {.passesWhatItSkips = true}),
  };
}

} // namespace backplane::mutants
