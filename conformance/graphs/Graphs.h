// SPDX-License-Identifier: Apache-2.0
//
// Graphs.h: families of units of more than one op. Layer 4: what a compiler
// fuses, moves, shares, folds and reuses. Layer 5: models. Layer 6: random
// graphs.
#ifndef BACKPLANE_CONFORMANCE_GRAPHS_GRAPHS_H
#define BACKPLANE_CONFORMANCE_GRAPHS_GRAPHS_H

#include "conformance/cases/CaseBuilder.h"

namespace backplane::conformance {

/// Elementwise ops behind contractions, in chains, around reductions and norms.
bool makeFusions(const Selection &selection, const Sink &put);
/// Transposes, reshapes, slices, gathers, … between ops that compute.
bool makeLayouts(const Selection &selection, const Sink &put);
/// Values with several users, in-place candidates, many values alive, ops that
/// differ in one attribute.
bool makeSharing(const Selection &selection, const Sink &put);
/// Constants that a compiler works out itself.
bool makeFolding(const Selection &selection, const Sink &put);
/// Layer 5.
bool makeModels(const Selection &selection, const Sink &put);
/// Layer 6: frozen seeds.
bool makeFuzz(const Selection &selection, const Sink &put);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_GRAPHS_GRAPHS_H
