// SPDX-License-Identifier: Apache-2.0
//
// KnownStores.h: masked stores of a number of lanes that is known. Private to
// this folder.
#ifndef BACKPLANE_EMIT_LLVM_KNOWNSTORES_H
#define BACKPLANE_EMIT_LLVM_KNOWNSTORES_H

#include "mlir/IR/BuiltinOps.h"

namespace backplane {

/// Stores the lanes before the end of a constant mask in whole vectors of 4, 2
/// and 1 lanes, of vectors of 256 bits; a single lane of any. Processors
/// without mask registers have a masked store of 256 bits that takes longer
/// than all of these together.
void storeKnownLanes(mlir::ModuleOp module);

} // namespace backplane

#endif // BACKPLANE_EMIT_LLVM_KNOWNSTORES_H
