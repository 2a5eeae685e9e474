// SPDX-License-Identifier: Apache-2.0
//
// Passes.h: the target-independent passes over the `bp` dialect. Each takes a
// module as importGraph makes it and leaves one of the same form.
#ifndef BACKPLANE_OPTIMIZE_PASSES_H
#define BACKPLANE_OPTIMIZE_PASSES_H

#include "sdk/graph/Model.h"

#include "llvm/ADT/StringRef.h"

#include <functional>
#include <memory>
#include <optional>

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace bp {

/// `bp-forward-variables`: a read of a variable after a write becomes the
/// written value, and of several writes the last one stays. All reads that are
/// left are of values from before the call, all writes can wait for its end.
std::unique_ptr<mlir::Pass> createForwardVariablesPass();

/// `bp-simplify`: identities that hold bit for bit, also for NaN, infinities
/// and -0: movement of movement, arithmetic with neutral constants, casts that
/// lose nothing, select of a constant.
std::unique_ptr<mlir::Pass> createSimplifyPass();

/// `bp-fold-scales`: per-channel factors and offsets after conv and matmul with
/// weights move into the weights (batch norm folding). Changes rounding.
std::unique_ptr<mlir::Pass> createFoldScalesPass();

/// The bytes of a weight; none when it is not there.
using ReadWeight =
    std::function<std::optional<backplane::Bytes>(llvm::StringRef id)>;

/// `bp-table-lookup`: a product with a one-hot tensor becomes a gather, and
/// elementwise functions of gathered constant rows are computed on the table.
/// `read` may be empty; one-hot tensors made from weights are then not seen.
std::unique_ptr<mlir::Pass> createTableLookupPass(ReadWeight read = {});

/// `bp-outline-constants`: maximal subgraphs that depend on weights and
/// constants only become functions `fold_N` with the unit attribute `bp.fold`,
/// called from where they stood. FoldConstants.h evaluates them.
std::unique_ptr<mlir::Pass> createOutlineConstantsPass();

/// `bp-move-tables`: constants of more than 16 different elements become
/// weights in `pool`, which the pass borrows. For code that has no memory for
/// constants: a shader would write such a table anew in each invocation.
std::unique_ptr<mlir::Pass> createMoveTablesPass(backplane::WeightPool &pool);

/// Registers all of them for textual pipelines.
void registerOptimizePasses();

} // namespace bp

#endif // BACKPLANE_OPTIMIZE_PASSES_H
