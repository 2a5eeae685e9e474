// SPDX-License-Identifier: Apache-2.0
//
// LineLanes.h: lines of elements that are computed in order, side by side in
// vectors. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_LINELANES_H
#define BACKPLANE_EMIT_CPU_LINELANES_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

namespace backplane {

/// Whether iterations of the loop can be lanes of vectors: it is independent,
/// and all that they access lies in a row along them.
bool areLanes(mlir::scf::ForOp lines);

/// Runs independent loops (lower/Marks.h) in steps of vectors where all that
/// they access lies in a row along them. Each line is computed in the order in
/// which it was. Loops with other accesses, or with branches that are not the
/// same for all of them, stay as they are.
/// `vectorBits` and `scalable` are those of bp-vectorize.
void vectorizeLines(mlir::ModuleOp module, unsigned vectorBits, bool scalable);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_LINELANES_H
