// SPDX-License-Identifier: Apache-2.0
//
// Passes.h: the passes of sdk/lower, declared in Passes.td.
#ifndef BACKPLANE_LOWER_PASSES_H
#define BACKPLANE_LOWER_PASSES_H

#include "mlir/Pass/Pass.h"

namespace bp {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "sdk/lower/Passes.h.inc"

} // namespace bp

#endif // BACKPLANE_LOWER_PASSES_H
