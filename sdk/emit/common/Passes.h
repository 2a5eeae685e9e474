// SPDX-License-Identifier: Apache-2.0
//
// Passes.h: the passes of sdk/emit, declared in Passes.td.
#ifndef BACKPLANE_EMIT_COMMON_PASSES_H
#define BACKPLANE_EMIT_COMMON_PASSES_H

#include "mlir/Pass/Pass.h"

namespace backplane {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "sdk/emit/common/Passes.h.inc"

} // namespace backplane

#endif // BACKPLANE_EMIT_COMMON_PASSES_H
