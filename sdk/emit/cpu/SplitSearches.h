// SPDX-License-Identifier: Apache-2.0
//
// SplitSearches.h: searches for the index of the highest or lowest element of
// a row. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_SPLITSEARCHES_H
#define BACKPLANE_EMIT_CPU_SPLITSEARCHES_H

#include "mlir/IR/BuiltinOps.h"

namespace backplane {

/// Makes two reductions of each search along rows of at least `shortest`
/// elements: the extreme of a row, then the first or last index of an element
/// that equals it. Lanes are then neighbours in a row, which a search as one
/// reduction of two results cannot have.
void splitSearches(mlir::ModuleOp module, int64_t shortest);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_SPLITSEARCHES_H
