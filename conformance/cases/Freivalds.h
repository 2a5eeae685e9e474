// SPDX-License-Identifier: Apache-2.0
//
// Freivalds.h: checks large sums of products without computing them. Operands
// hold small integers, so that every order of summation gives the same exact
// result Y = X * W. For random r modulo a prime p, Y * r = X * (W * r) holds
// for the right Y always, and for a wrong one with a chance of 1 in p = 2^31 -
// 1 per line at most: a single wrong element anywhere is missed with a
// probability below 2^-30.
//
// Lines of Y run over the columns of a matmul or the output channels of a
// convolution's group, so checking costs 1 in that many of the product.
#ifndef BACKPLANE_CONFORMANCE_CASES_FREIVALDS_H
#define BACKPLANE_CONFORMANCE_CASES_FREIVALDS_H

#include "Case.h"
#include "conformance/compare/Compare.h"

namespace backplane::conformance {

/// The inputs of a case of Method::Products, of the model: integers whose sums
/// the result can hold exactly.
std::vector<Tensor> productInputs(const Unit &unit, const Case &testCase);
/// The verdict on the one output of the model.
Verdict judgeProduct(const Unit &unit, const Case &testCase,
                     const std::vector<Tensor> &outputs);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_FREIVALDS_H
