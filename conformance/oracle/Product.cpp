// SPDX-License-Identifier: Apache-2.0
#include "Product.h"

#include <algorithm>

namespace backplane::conformance {

/// Of any order: the product of all factors above 1, and of all below.
void Product::reach(Real size) {
  if (size == 0 || !std::isfinite(size))
    return;
  if (order_ == Order::Any)
    (size > 1 ? large_ : small_) *= size;
  else
    (size > 1 ? large_ : small_) =
        size > 1 ? std::max(large_, size) : std::min(small_, size);
}

void Product::multiply(const MidRad &factor) {
  bool isFirst = count_++ == 0;
  Real size = std::fabs(factor.v) + factor.e;
  if (order_ == Order::Any)
    reach(size);
  if (isFirst) {
    product_ = factor;
    return;
  }
  Real v = product_.v * factor.v;
  Real e = std::fabs(product_.v) * factor.e + std::fabs(factor.v) * product_.e +
           product_.e * factor.e;
  if (!std::isfinite(size) || !std::isfinite(v) || !std::isfinite(e)) {
    product_ = arithmetic_.mul(product_, factor);
    return;
  }
  bool isExact = std::fabs(factor.v) == 1 && factor.e == 0;
  product_ = {v, e + (isExact ? 0 : arithmetic_.u * (std::fabs(v) + e))};
  if (order_ == Order::AsGiven)
    reach(std::fabs(v) + product_.e);
}

Real Product::growth() const {
  return order_ == Order::Any ? large_
                              : (std::fabs(product_.v) + product_.e) / small_;
}

MidRad Product::result() const {
  bool mayVanish = small_ < smallest(formatOf(arithmetic_.limits), true);
  bool mayOverflow = large_ > arithmetic_.max || std::isinf(product_.v);
  // Some order multiplies what has become zero by what is infinite. A factor
  // that is NaN makes it NaN in all of them.
  if (order_ == Order::Any && mayVanish && mayOverflow &&
      !std::isnan(product_.v))
    return anything();
  if (count_ < 2 || !std::isfinite(product_.v) || !std::isfinite(product_.e))
    return product_;
  MidRad result = product_;
  bool isInRange = std::fabs(result.v) - result.e <= arithmetic_.max;
  if (large_ > arithmetic_.max && isInRange)
    return mayBeZero(result) ? anything() : anyNumber(result.v);
  // What a partial product loses below all normals grows with what follows.
  if (mayVanish)
    result.e += arithmetic_.eta * growth() * static_cast<Real>(count_);
  return result;
}

} // namespace backplane::conformance
