// SPDX-License-Identifier: Apache-2.0
//
// LongLoops.h: loops over vectors with long bodies, on machines of 16 vector
// registers. Private to this folder.
#ifndef BACKPLANE_EMIT_LLVM_LONGLOOPS_H
#define BACKPLANE_EMIT_LLVM_LONGLOOPS_H

#include "mlir/IR/BuiltinOps.h"

namespace backplane {

/// Has innermost loops of which each op waits for the one before keep their
/// machine busy:
///   - those that are marked as independent (sdk/lower/Marks.h) and evaluate
///     polynomials do two iterations at a time, op by op, as schedulers see no
///     further than one;
///   - constant vectors are no constants to LLVM, where there are more of them
///     than registers. It makes constants without a register anew in each
///     iteration, where AVX2 broadcasts them from memory by an instruction
///     each; what is no constant it stores once and reads as an operand.
void shortenWaits(mlir::ModuleOp module);

} // namespace backplane

#endif // BACKPLANE_EMIT_LLVM_LONGLOOPS_H
