// SPDX-License-Identifier: Apache-2.0
//
// Rounded.h: what a right device computes, for tests of the judge.
#ifndef BACKPLANE_CONFORMANCE_CASES_TEST_ROUNDED_H
#define BACKPLANE_CONFORMANCE_CASES_TEST_ROUNDED_H

#include "conformance/compare/Elements.h"
#include "conformance/oracle/Oracle.h"

namespace backplane::conformance {

inline std::vector<Tensor> rounded(const std::vector<Expected> &expected) {
  std::vector<Tensor> outputs;
  for (const Expected &answer : expected) {
    Tensor tensor{answer.dtype, answer.dims, {}};
    tensor.data.resize((answer.bits.size() * bitWidth(answer.dtype) + 7) / 8);
    for (size_t i = 0; i < answer.bits.size(); ++i)
      storeBits(tensor, i, answer.bits[i]);
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_TEST_ROUNDED_H
