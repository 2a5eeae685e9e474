// SPDX-License-Identifier: Apache-2.0
//
// Judge.h: the judgement of a case, from all that is known about it: compare
// (Compare.h) with the numerics declared for the op under test, zero tolerance
// where the data make every order of summation exact, statistics where the data
// are random, and what the probes of declared numerics show.
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

/// Whether the unit probes declared numerics instead of an op. The oracle is
/// not asked about probes: judge ignores `expected` for them.
bool isProbe(const Unit &unit);

/// Whether a case is right when the device reports an error (an index out of
/// range, an integer division by zero). The oracle fails with
/// BP_STATUS_OUT_OF_RANGE for these cases, and for no others.
bool expectsError(const Case &testCase);

/// The judgement of a probe: fails when the outputs contradict what was
/// declared.
std::vector<Verdict> judgeProbe(const Unit &unit, const Case &testCase,
                                const std::vector<Tensor> &outputs,
                                const Declaration &declaration);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_JUDGE_H
