// SPDX-License-Identifier: Apache-2.0
//
// Passes.h: the published passes that take one dispatch from the `bp` dialect
// to linalg on tensors. README.md has the entry and exit contracts.
#ifndef BACKPLANE_LOWER_PASSES_H
#define BACKPLANE_LOWER_PASSES_H

#include <memory>

namespace mlir {
class OpPassManager;
class Pass;
} // namespace mlir

namespace bp {

/// `bp-lower-to-linalg`, on a module: every function that holds `bp` ops
/// becomes linalg on tensors in destination-passing form. Fails with a
/// diagnostic on the op that it cannot lower.
std::unique_ptr<mlir::Pass> createLowerToLinalgPass();

/// `bp-expand-math`, on any op: math functions, float remainders and bf16
/// conversions on scalars and vectors become arithmetic that needs no library.
/// Errors in ULP: docs/reference/math.md.
std::unique_ptr<mlir::Pass> createExpandMathPass();

/// Registers both for textual pipelines. Call once.
void registerLowerPasses();

/// The pipeline of the stage: `bp-lower-to-linalg`, then clean-up.
void buildLowerPipeline(mlir::OpPassManager &manager);

} // namespace bp

#endif // BACKPLANE_LOWER_PASSES_H
