// SPDX-License-Identifier: Apache-2.0
//
// Sizes.h: which sizes large cases have. Some are in a table of what models
// use (model_sizes.inc); others are drawn from the seed of the run, so that
// nobody knows them before, under a budget of multiply-adds.
#ifndef BACKPLANE_CONFORMANCE_CASES_SIZES_H
#define BACKPLANE_CONFORMANCE_CASES_SIZES_H

#include "Case.h"

namespace backplane::conformance {

/// One size of a family and the range that models have.
struct Axis {
  std::string symbol;
  int64_t low = 1, high = 1;
  /// Every value is a multiple of it.
  int64_t divisor = 1;
};

/// What one case may be.
struct Limits {
  double work = 0;     ///< multiply-adds
  double elements = 0; ///< of the largest value
  double bytes = 0;    ///< of the largest value; 0: no limit
};
/// Those of a depth, or of a smaller budget of multiply-adds: a device that has
/// one gets tensors in proportion. 0: no budget.
Limits limitsOf(Depth depth, uint64_t budget);

bool isWithin(const Limits &limits, const Graph &graph,
              const SymbolValues &symbols);
/// Whether the oracle can compute the graph with two slices along the symbols
/// that are repeated (Repeats.h): few multiply-adds, and at most `elements` in
/// a value, 0: as usual.
bool isWithinOracle(const Graph &graph,
                    const std::vector<std::string> &repeated,
                    SymbolValues symbols, double elements);

/// Whether a number is prime.
bool isPrime(int64_t number);

using Fits = std::function<bool(const SymbolValues &)>;

/// The sizes of slot `slot`: of the first slots, all sizes are as large as
/// `fits` allows; then each axis has a slot in which it is near the top of its
/// range; the rest is spread evenly over the logarithms. Sizes are any numbers,
/// primes, powers of two, multiples of 64 or the neighbours of both.
SymbolValues drawSizes(const std::vector<Axis> &axes, size_t slot,
                       uint64_t seed, const Fits &fits);
/// Known sizes, all made smaller in proportion until they fit.
SymbolValues fitSizes(const std::vector<Axis> &axes, SymbolValues sizes,
                      const Fits &fits);
/// Slots of `drawSizes` after which all kinds have been met.
size_t slotsOf(const std::vector<Axis> &axes);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_SIZES_H
