// SPDX-License-Identifier: Apache-2.0
//
// Large.h: cases at sizes that models have, which the oracle is too slow for.
// This is the one place that says which method judges a case, and with which
// data; docs/explanation/conformance.md says what each method finds.
#ifndef BACKPLANE_CONFORMANCE_CASES_LARGE_H
#define BACKPLANE_CONFORMANCE_CASES_LARGE_H

#include "Case.h"
#include "conformance/compare/Compare.h"

namespace backplane::conformance {

/// The inputs of the unit's graph, without those that are weights of it.
std::vector<Tensor> largeInputs(const Unit &unit, const Case &testCase);
/// One verdict per output.
std::vector<Verdict> judgeLarge(const Unit &unit, const Case &testCase,
                                const std::vector<Tensor> &outputs,
                                const Declaration &declaration);

/// A graph with numbers in place of symbols.
Graph withNumbers(const Graph &graph, const SymbolValues &symbols);
/// The unit with its weights, which are made only when it runs: a copy where
/// it has any. A unit with weights has one case.
Result<Unit> withWeights(const Unit &unit);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_LARGE_H
