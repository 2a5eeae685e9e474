// SPDX-License-Identifier: Apache-2.0
//
// Minimize.h: the smallest part of a graph that still fails.
#ifndef BACKPLANE_CONFORMANCE_REPRO_MINIMIZE_H
#define BACKPLANE_CONFORMANCE_REPRO_MINIMIZE_H

#include "Repro.h"

namespace backplane::conformance {

/// Whether a repro fails in the way that is looked for.
using Fails = std::function<bool(const Repro &)>;

struct Minimized {
  Repro repro;
  size_t tries = 0; ///< repros that were asked about
};

/// Makes a failing repro smaller while it fails: keeps one output, deletes
/// ops (what they gave becomes an input, with the oracle's value), shrinks
/// dims, makes numbers simple. Asks `fails` at most `budget` times.
Minimized minimize(Repro repro, const Fails &fails, size_t budget);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPRO_MINIMIZE_H
