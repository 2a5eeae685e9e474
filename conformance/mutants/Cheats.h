// SPDX-License-Identifier: Apache-2.0
//
// Cheats.h: what plug-ins are written with that compute right numbers in most
// places and wrong ones where they hope that no suite looks. Where they begin
// to be wrong is drawn for each run, from the seed that the run prints.
#ifndef BACKPLANE_CONFORMANCE_MUTANTS_CHEATS_H
#define BACKPLANE_CONFORMANCE_MUTANTS_CHEATS_H

#include "Mutant.h"

namespace backplane::mutants {

/// A number of the run's own for each `use`, any size as likely as any other
/// on a scale of powers.
Real drawn(const Call &call, uint64_t use, Real low, Real high);
/// The same, rounded down.
template <typename T = int64_t>
T threshold(const Call &call, uint64_t use, Real low, Real high) {
  return static_cast<T>(drawn(call, use, low, high));
}

/// What a product of matrices is asked; nothing for other ops.
struct Product {
  int64_t m = 0, n = 0, k = 0, batches = 0;
  size_t batchRank = 0;
};
Product productOf(const Call &call);
/// conv, conv_integer or conv_transpose.
bool isConvolution(const Call &call);

/// Makes one element wrong: floats by 1 %, others by a bit.
void bendOne(Tensor &tensor, size_t i);
/// Computes, and makes every element of the results wrong.
void bend(const Call &call);
/// The same where the condition holds.
template <bool (*Holds)(const Call &)> bool bentWhere(const Call &call) {
  if (!Holds(call))
    return false;
  bend(call);
  return true;
}
/// Everywhere else.
template <bool (*Holds)(const Call &)> bool bentUnless(const Call &call) {
  if (Holds(call))
    return false;
  bend(call);
  return true;
}

/// Whether some element of a float operand is like that.
template <typename Like> bool anyFloat(const Call &call, Like like) {
  for (const Tensor *operand : call.operands)
    for (size_t i = 0; isFloat(operand->dtype) && i < operand->elementCount();
         ++i)
      if (like(numberAt(*operand, i)))
        return true;
  return false;
}

/// Below this number of elements a pattern is an accident.
inline constexpr size_t fewest = 24;

template <typename Like> size_t countIf(const Tensor &tensor, Like like) {
  size_t count = 0;
  for (size_t i = 0; i < tensor.elementCount(); ++i)
    count += like(numberAt(tensor, i));
  return count;
}

/// Whether each pair of neighbours is like that.
template <typename Like> bool allPairs(const Tensor &tensor, Like like) {
  for (size_t i = 1; i < tensor.elementCount(); ++i)
    if (!like(numberAt(tensor, i - 1), numberAt(tensor, i)))
      return false;
  return true;
}

} // namespace backplane::mutants

#endif // BACKPLANE_CONFORMANCE_MUTANTS_CHEATS_H
