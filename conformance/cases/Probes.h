// SPDX-License-Identifier: Apache-2.0
//
// Probes.h: units that find out how a target computes, by sums and products
// that come out differently for each way. What is found is compared with what
// the target declares; one that declares better than it does fails.
//
// A probe is a unit of the op "numerics" whose last part of the id is an op
// class; its data set names the property:
//
//   probe-accumulator       how many bits sums keep: a large number swamps ones
//   probe-rounding          to nearest or to zero
//   probe-operands          whether products see all bits of their operands
//   probe-narrow-operands   whether they see those of tf32 and of bf16
//   probe-flush-input       whether subnormal operands count as zero
//   probe-flush-output      whether subnormal results become zero
//   probe-contraction       whether a * b + c rounds once
//   uniform                 determinism: every probe runs twice
#ifndef BACKPLANE_CONFORMANCE_CASES_PROBES_H
#define BACKPLANE_CONFORMANCE_CASES_PROBES_H

#include "Case.h"
#include "DataSets.h"
#include "conformance/compare/Compare.h"

namespace backplane::conformance {

/// The data set of this name; null for one that is no probe's.
DataSet findProbeData(std::string_view name);

/// The op class whose declaration holds for a unit: that of its op, or the one
/// that it probes.
std::string numericClassOf(const Unit &unit);

/// What the outputs of a probe say, against the declaration: `got` is what was
/// found, `want` what is declared.
Verdict judgeProbe(const Unit &unit, const Case &testCase,
                   const std::vector<Tensor> &outputs,
                   const Declaration &declaration);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_PROBES_H
