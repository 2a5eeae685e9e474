// SPDX-License-Identifier: Apache-2.0
//
// ModelSizes.h: sizes that models have, from model_sizes.inc, which
// model_sizes.py writes.
#ifndef BACKPLANE_CONFORMANCE_CASES_MODELSIZES_H
#define BACKPLANE_CONFORMANCE_CASES_MODELSIZES_H

#include "LargeBuilder.h"

namespace backplane::conformance {

/// A convolution that a model has.
struct KnownWindow {
  std::string name;
  std::vector<int64_t> window, strides;
  int64_t groups = 1;  ///< -1: as many as channels
  SymbolValues values; ///< n, c, o, and h, w, d
};

/// Products of matrices: m, k, n.
const std::vector<KnownSizes> &knownProducts();
const std::vector<KnownWindow> &knownWindows();

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_CASES_MODELSIZES_H
