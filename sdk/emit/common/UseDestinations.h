// SPDX-License-Identifier: Apache-2.0
//
// UseDestinations.h: what an elementwise op reads for the last time, and only
// where it writes, is computed in its destination, if it takes long. The memory
// of a result comes to the caches once either way: like this it does so while
// its elements are computed. Private to this folder.
#ifndef BACKPLANE_EMIT_COMMON_USEDESTINATIONS_H
#define BACKPLANE_EMIT_COMMON_USEDESTINATIONS_H

#include "mlir/IR/BuiltinOps.h"

namespace backplane {

void useDestinations(mlir::ModuleOp module);

} // namespace backplane

#endif // BACKPLANE_EMIT_COMMON_USEDESTINATIONS_H
