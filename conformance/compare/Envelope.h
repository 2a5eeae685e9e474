// SPDX-License-Identifier: Apache-2.0
//
// Envelope.h: limits for graphs in which the bound of running errors says too
// little, because numbers cancel or many ops follow one another.
//
// The graph runs 16 times in the oracle, op by op. Each run draws what the
// rounding of a right device may be: the error of each sum from the deviation
// of its rounding, that of each function from its limit, for each value between
// two ops whether it is rounded to its dtype, to either neighbour, or kept
// wider, as in a fused kernel, and for each op whether it flushes subnormal
// numbers, where the target declares that. Each such choice is made in half of
// the runs, as 16 independent draws may all but leave out the only rounding
// that counts. The deviation of an output element over the runs says how much
// right devices differ there.
#ifndef BACKPLANE_CONFORMANCE_COMPARE_ENVELOPE_H
#define BACKPLANE_CONFORMANCE_COMPARE_ENVELOPE_H

#include "conformance/oracle/Oracle.h"

namespace backplane::conformance {

inline constexpr unsigned envelopeRuns = 16;

/// One output over all runs.
struct Spread {
  /// What a run without any rounding computes.
  std::vector<Real> centre;
  /// Deviation from the exact value, element by element; infinite where a run
  /// gave no number. The exact value is the expected one, or where its error
  /// has no bound, the centre.
  std::vector<Real> sigma;
  /// The largest RMS of error / sigma of one of the runs over the elements: 1
  /// where errors are independent, more where all elements share them.
  double commonRms = 1;
};

/// The spread of each output; empty for outputs that are not floats. `seed`
/// decides the runs, of which `threads` go on at the same time: what they find
/// does not depend on it. Fails as evaluate does, and on control flow.
Result<std::vector<Spread>> spreadOf(const Graph &graph,
                                     const std::vector<Tensor> &inputs,
                                     const Declaration &declaration,
                                     const WeightPool *weights, uint64_t seed,
                                     const std::vector<Expected> &expected,
                                     unsigned threads = 1);

/// Whether the limits of an output say too little: the error of some element is
/// 1/16 of its value or more.
bool isLoose(const Expected &expected);

/// Lowers the loose limits of an output to 8 sigma + 4 ulp and gates the RMS of
/// error / sigma over those elements (Tolerance.h). Limits never grow. Elements
/// for which anything is right, NaN too, stay so unless the inputs of the graph
/// are all `finite`: then no run having left the domain of an op says enough.
/// Elements whose error had no bound get the centre as their value.
void tighten(Expected &expected, const Spread &spread, bool finite);

/// tighten for each loose output of a graph. Limits stay where spreadOf fails.
void tightenLoose(const Graph &graph, const std::vector<Tensor> &inputs,
                  const Declaration &declaration, const WeightPool *weights,
                  uint64_t seed, std::vector<Expected> &expected,
                  unsigned threads = 1);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_COMPARE_ENVELOPE_H
