// SPDX-License-Identifier: Apache-2.0
//
// Passes.h: the passes of sdk/optimize, declared in Passes.td, and those that
// need more than options.
#ifndef BACKPLANE_OPTIMIZE_PASSES_H
#define BACKPLANE_OPTIMIZE_PASSES_H

#include "sdk/graph/Model.h"

#include "mlir/Pass/Pass.h"

#include <functional>
#include <optional>

namespace bp {

/// The bytes of a weight; none when it is not there.
using ReadWeight =
    std::function<std::optional<backplane::Bytes>(llvm::StringRef id)>;

/// Without `read`, one-hot tensors made from weights are not seen.
std::unique_ptr<mlir::Pass> createTableLookupPass(ReadWeight read = {});
std::unique_ptr<mlir::Pass> createOutlineConstantsPass(bool keepPlaces = false,
                                                       bool keepBytes = false);
/// Adds the weights to `pool`, which the pass borrows; null: to one of its own.
std::unique_ptr<mlir::Pass>
createMoveTablesPass(backplane::WeightPool *pool = nullptr);

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "sdk/optimize/Passes.h.inc"

} // namespace bp

#endif // BACKPLANE_OPTIMIZE_PASSES_H
