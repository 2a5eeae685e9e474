// SPDX-License-Identifier: Apache-2.0
//
// Judge.h: the judgement of a case, from all that is known about it: compare
// (Compare.h) with the numerics declared for the op under test, zero tolerance
// where the data make every order of summation exact, and statistics where the
// data are random.
#ifndef BACKPLANE_CONFORMANCE_CASES_JUDGE_H
#define BACKPLANE_CONFORMANCE_CASES_JUDGE_H

#include "Case.h"
#include "conformance/compare/Compare.h"

namespace backplane::conformance {

/// One verdict per output of the graph. An output that is missing in `outputs`
/// fails. `expected` is the oracle's answer for the inputs of the case.
std::vector<Verdict> judge(const Unit &unit, const Case &testCase,
                           const std::vector<Expected> &expected,
                           const std::vector<Tensor> &outputs,
                           const Declaration &declaration);

/// What a target must keep to in a unit: what it declares, but in graphs no
/// accumulator counts as wider than the dtype, as the compiler may round
/// constants that it works out (a scale in the weights of a convolution).
Declaration declarationFor(const Unit &unit, const Declaration &declared);

/// What is declared for the op under test.
Numerics numericsFor(const Unit &unit, const Declaration &declaration);

/// Whether the unit probes declared numerics instead of an op; the oracle is
/// not asked about those (Probes.h).
bool isProbe(const Unit &unit);

/// Whether a case is right when the device reports an error.
bool expectsError(const Case &testCase);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_JUDGE_H
