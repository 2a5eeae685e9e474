// SPDX-License-Identifier: Apache-2.0
//
// Passes.h: how operands lie in memory, declared in Passes.td.
#ifndef BACKPLANE_LAYOUT_PASSES_H
#define BACKPLANE_LAYOUT_PASSES_H

#include "mlir/Pass/Pass.h"

namespace bp {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "sdk/layout/Passes.h.inc"

} // namespace bp

#endif // BACKPLANE_LAYOUT_PASSES_H
