// SPDX-License-Identifier: Apache-2.0
//
// Contract.h: matmul and conv as plain loops with a rule for each thing that
// can be done wrongly, or in another right way.
#ifndef BACKPLANE_CONFORMANCE_MUTANTS_CONTRACT_H
#define BACKPLANE_CONFORMANCE_MUTANTS_CONTRACT_H

#include "Mutant.h"

namespace backplane::mutants {

/// The operands of one output, in order.
struct Operands {
  std::vector<Real> a, b;
};

struct ContractRules {
  // which elements
  bool dropsLast = false; ///< the last term, unless 4 divides their number
  bool repeatsBoundary = false; ///< term 16 counts twice
  bool flipsWindow = false;
  bool ignoresDilation = false;
  bool swapsPads = false;
  bool shiftsGroups = false;  ///< the last group reads the first one's channels
  bool readsRowMajor = false; ///< a square transposed operand as if it was not
  bool padsRaw = false; ///< conv_integer: padding is 0, not the zero point
  // how they are summed; null: exactly, rounded once
  Real (*sum)(const Operands &operands) = nullptr;
  /// Stores a sum; null: rounds to nearest.
  uint64_t (*store)(DType dtype, Real sum) = nullptr;
  /// Changes an operand first; null: not.
  Real (*operand)(DType dtype, Real value) = nullptr;
  /// Only these float dtypes; others are left alone.
  bool (*applies)(DType dtype) = nullptr;
};

// Sums in 24 bits, in order: rounded to nearest once for product and sum, or
// towards zero at each step.
Real fusedInFloats(const Operands &operands);
Real truncatedInFloats(const Operands &operands);

/// Computes a matmul, conv or conv_integer; false on any other op or dtype.
bool contract(const Call &call, const ContractRules &rules);

} // namespace backplane::mutants

#endif // BACKPLANE_CONFORMANCE_MUTANTS_CONTRACT_H
