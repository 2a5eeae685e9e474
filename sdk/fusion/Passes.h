// SPDX-License-Identifier: Apache-2.0
//
// Passes.h: from a graph to dispatches, declared in Passes.td.
#ifndef BACKPLANE_FUSION_PASSES_H
#define BACKPLANE_FUSION_PASSES_H

#include "mlir/Pass/Pass.h"

namespace bp {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "sdk/fusion/Passes.h.inc"

} // namespace bp

#endif // BACKPLANE_FUSION_PASSES_H
