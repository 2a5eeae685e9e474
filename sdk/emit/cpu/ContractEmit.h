// SPDX-License-Identifier: Apache-2.0
//
// ContractEmit.h: the loops of a contraction on memrefs. Private to this
// folder.
//
//   for each work-group (outer, tile of n, tile of m):
//     for each block of k:
//       pack B: panels of [k][vectors * lanes], zero beyond the edge
//       pack A: panels of [rows][k]
//       (narrow operands stay narrow, in VNNI packing)
//       for each panel of B, for each panel of A:
//         multiply into registers, then add, finish and store
//
// or, for few rows of A, the loops of ContractGemv.h, and for few columns of B
// those of ContractDots.h.
#ifndef BACKPLANE_EMIT_CPU_CONTRACTEMIT_H
#define BACKPLANE_EMIT_CPU_CONTRACTEMIT_H

#include "sdk/emit/cpu/ContractScope.h"
#include "sdk/emit/cpu/Contraction.h"

namespace backplane {

/// What the machine has.
struct ContractMachine {
  VectorWidth width;
  int64_t registers;            ///< for vectors
  int64_t cacheBytes = 1 << 20; ///< of level 2
  NarrowProducts products;
};

/// Makes the code of one work-group at the insertion point of the scope's
/// builder.
void emitBlocked(const ContractScope &scope);

/// Makes the loops at the insertion point of `builder`.
void emitContraction(mlir::OpBuilder &builder, const Contraction &contraction,
                     const ContractMachine &machine);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTEMIT_H
