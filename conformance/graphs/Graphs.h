// SPDX-License-Identifier: Apache-2.0
//
// Graphs.h: families of units of more than one op. Layer 4: what a compiler
// fuses, moves, shares, folds and reuses. Layer 5: models. Layer 6: random
// graphs.
#ifndef BACKPLANE_CONFORMANCE_GRAPHS_GRAPHS_H
#define BACKPLANE_CONFORMANCE_GRAPHS_GRAPHS_H

#include "conformance/cases/CaseBuilder.h"

namespace backplane::conformance {

/// Elementwise ops after contractions, in chains, around reductions and norms.
void makeFusions(const Sink &sink);
/// Transposes, reshapes, slices, gathers, … between ops that compute.
void makeLayouts(const Sink &sink);
/// Values with several users, in-place candidates, many values alive, ops that
/// differ in one attribute.
void makeSharing(const Sink &sink);
/// Constants that a compiler works out itself.
void makeFolding(const Sink &sink);
/// Layer 5.
void makeModels(const Sink &sink);
/// Layer 6: frozen seeds.
void makeFuzz(const Sink &sink);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_GRAPHS_GRAPHS_H
