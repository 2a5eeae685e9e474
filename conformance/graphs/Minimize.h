// SPDX-License-Identifier: Apache-2.0
//
// Minimize.h: the smallest part of a graph that still fails.
#ifndef BACKPLANE_CONFORMANCE_GRAPHS_MINIMIZE_H
#define BACKPLANE_CONFORMANCE_GRAPHS_MINIMIZE_H

#include "Specimen.h"

namespace backplane::conformance {

/// Whether a specimen fails in the way that is looked for.
using Fails = std::function<bool(const Specimen &)>;

struct Minimized {
  Specimen specimen;
  size_t tries = 0; ///< specimens that were asked about
};

/// Makes a failing specimen smaller while it fails: keeps one output, deletes
/// ops (what they gave becomes an input, with the oracle's value), shrinks
/// dims, makes numbers simple. Asks `fails` at most `budget` times.
Minimized minimize(Specimen specimen, const Fails &fails, size_t budget);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_GRAPHS_MINIMIZE_H
