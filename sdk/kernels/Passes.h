// SPDX-License-Identifier: Apache-2.0
//
// Passes.h: the pass that looks for kernels, declared in Passes.td.
#ifndef BACKPLANE_KERNELS_PASSES_H
#define BACKPLANE_KERNELS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace bp {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "sdk/kernels/Passes.h.inc"

} // namespace bp

#endif // BACKPLANE_KERNELS_PASSES_H
