// SPDX-License-Identifier: Apache-2.0
//
// Generate.h: all families of graphs of the suite, in their order.
#ifndef BACKPLANE_CONFORMANCE_SUITE_GENERATE_H
#define BACKPLANE_CONFORMANCE_SUITE_GENERATE_H

#include "conformance/cases/Case.h"

namespace backplane::conformance {

/// All units up to a depth, in a fixed order.
void generateUnits(const Selection &selection,
                   const std::function<void(Unit)> &put);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_SUITE_GENERATE_H
