// SPDX-License-Identifier: Apache-2.0
//
// Probed.h: what the probes of a run found of the target's arithmetic, beside
// what it declares.
#ifndef BACKPLANE_CONFORMANCE_REPORT_PROBED_H
#define BACKPLANE_CONFORMANCE_REPORT_PROBED_H

#include "Record.h"

#include <span>

namespace backplane::conformance {

struct ProbedFact {
  std::string opClass;  ///< "DOT"
  std::string dtype;    ///< "f32"
  std::string property; ///< "accumulator", "rounding", …, "repetition"
  std::string found;    ///< "24 bits"
  std::string declared; ///< "24 bits"
  bool holds = false;   ///< the target does at least what it declares
};

/// The facts of all probes that ran, in the order of their records. A probe
/// that gave no result (a crash, a time limit) is found as its status.
std::vector<ProbedFact> probedFacts(std::span<const Record> records);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPORT_PROBED_H
