// SPDX-License-Identifier: Apache-2.0
//
// Product.h: the limits of a product of many factors, in the precision that is
// declared or a wider one.
#ifndef BACKPLANE_CONFORMANCE_ORACLE_PRODUCT_H
#define BACKPLANE_CONFORMANCE_ORACLE_PRODUCT_H

#include "MidRad.h"

namespace backplane::conformance {

/// A running product: (1 + u)^(n - 1) - 1 for n factors, with their own errors.
/// Partial products may leave the range of the declared precision where those
/// of a wider precision, or of another order, do not.
class Product {
public:
  enum class Order { AsGiven, Any };
  Product(const Arithmetic &arithmetic, Order order)
      : arithmetic_(arithmetic), order_(order) {}

  void multiply(const MidRad &factor);
  /// Before it is rounded to a dtype; 1 of no factors.
  MidRad result() const;

private:
  void reach(Real size);
  /// By what the smallest partial product is multiplied later.
  Real growth() const;

  const Arithmetic &arithmetic_;
  Order order_;
  MidRad product_ = {1, 0};
  Real large_ = 1, small_ = 1; ///< what partial products may reach, zero aside
  size_t count_ = 0;
};

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_ORACLE_PRODUCT_H
