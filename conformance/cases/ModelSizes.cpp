// SPDX-License-Identifier: Apache-2.0
#include "ModelSizes.h"

namespace backplane::conformance {

namespace {

#include "model_sizes.inc"

} // namespace

const std::vector<KnownSizes> &knownProducts() { return products; }

const std::vector<KnownWindow> &knownWindows() { return windows; }

} // namespace backplane::conformance
