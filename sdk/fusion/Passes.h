// SPDX-License-Identifier: Apache-2.0
//
// Passes.h: from a graph to dispatches. A dispatch is a function that becomes
// one kernel; `main` then holds calls, and what needs no kernel: weights,
// constants, reshapes, reads and writes of variables.
#ifndef BACKPLANE_FUSION_PASSES_H
#define BACKPLANE_FUSION_PASSES_H

namespace bp {

/// Registers `bp-form-dispatches` for textual pipelines.
void registerFusionPasses();

} // namespace bp

#endif // BACKPLANE_FUSION_PASSES_H
