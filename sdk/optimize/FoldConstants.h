// SPDX-License-Identifier: Apache-2.0
//
// FoldConstants.h: what depends on weights alone is computed once, by the
// reference device, while compiling.
#ifndef BACKPLANE_OPTIMIZE_FOLDCONSTANTS_H
#define BACKPLANE_OPTIMIZE_FOLDCONSTANTS_H

#include "sdk/graph/Model.h"

#include "mlir/IR/BuiltinOps.h"

namespace bp {

/// Gives the outputs of a graph for the bytes of its inputs; see
/// CompileServices::evaluate.
using Evaluate = std::function<backplane::Result<std::vector<backplane::Bytes>>(
    const backplane::Graph &graph,
    std::span<const std::span<const uint8_t>> inputs)>;

/// Evaluates the functions that bp-outline-constants made and puts weights (or
/// small constants) in place of the calls; new weights go into `pool`. What
/// cannot be evaluated is put back into `main`. `report` gets a line for each
/// function.
llvm::LogicalResult foldConstants(mlir::ModuleOp module,
                                  const Evaluate &evaluate,
                                  backplane::WeightPool &pool,
                                  std::vector<std::string> &report);

} // namespace bp

#endif // BACKPLANE_OPTIMIZE_FOLDCONSTANTS_H
