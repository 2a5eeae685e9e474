// SPDX-License-Identifier: Apache-2.0
//
// ExactProduct.h: a product of integers, checked by Freivalds' method; see
// Freivalds.h.
#ifndef BACKPLANE_CONFORMANCE_CASES_EXACTPRODUCT_H
#define BACKPLANE_CONFORMANCE_CASES_EXACTPRODUCT_H

#include "Case.h"

namespace backplane::conformance {

using Integers = std::vector<int64_t>;

/// 2^31 - 1. A coefficient times an operand of at most 9 bits, summed 2^22
/// times, stays below 2^62.
inline constexpr int64_t freivaldsPrime = 2147483647;

inline int64_t modulo(int64_t x) { return x % freivaldsPrime; }
/// All of them modulo p.
void reduceAll(Integers &numbers);
/// Coefficients in [1, p).
Integers coefficients(size_t count, uint64_t seed);

/// An element of the output that is not what it has to be.
struct WrongElement {
  size_t element;
  std::optional<int64_t> want; ///< none: the element is no integer
};

/// The operands as integers, without zero points.
class ExactProduct {
public:
  ExactProduct(const Op &op, const std::vector<Tensor> &inputs, const Tensor &y,
               uint64_t seed);

protected:
  /// A line of the output; false: `fault` is the element that is no integer.
  bool line(size_t first, size_t count, Integers &values,
            std::optional<WrongElement> &fault) const;

  const Op &op_;
  const std::vector<int64_t> &xDims_, &wDims_;
  const Tensor &y_;
  uint64_t seed_;
  Integers x_, w_;
};

/// The first wrong element of a matmul, matmul_integer included.
std::optional<WrongElement>
checkMatrixProduct(const Op &op, const std::vector<Tensor> &inputs,
                   const Tensor &y, uint64_t seed);
/// The same of a convolution of any kind.
std::optional<WrongElement> checkConvolution(const Op &op,
                                             const std::vector<Tensor> &inputs,
                                             const Tensor &y, uint64_t seed);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_EXACTPRODUCT_H
