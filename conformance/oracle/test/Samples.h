// SPDX-License-Identifier: Apache-2.0
//
// Samples.h: small graphs of one op that several tests evaluate.
#ifndef BACKPLANE_CONFORMANCE_ORACLE_TEST_SAMPLES_H
#define BACKPLANE_CONFORMANCE_ORACLE_TEST_SAMPLES_H

#include "conformance/oracle/Format.h"
#include "conformance/oracle/Oracle.h"

#include <iosfwd>

namespace backplane::conformance {

struct Sample {
  std::string name; ///< unique
  std::string op;
  std::vector<std::vector<int64_t>> operands; ///< dims
  Attributes attributes;
  DType dtype = DType::F32; ///< of all operands
};

void PrintTo(const Sample &sample, std::ostream *out);

std::vector<Sample> primitiveSamples();
std::vector<Sample> compositeSamples();
/// Composites that PyTorch lacks.
std::vector<Sample> layoutSamples();

/// Numbers in [-2, 2) or small integers, the same on every machine
/// (make_torch_points.py makes the same); what is a variance is not negative.
std::vector<Tensor> inputsOf(const Sample &sample);
/// A graph of the op on inputs of these types.
Graph graphOf(const Sample &sample, const std::vector<Tensor> &inputs);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_ORACLE_TEST_SAMPLES_H
