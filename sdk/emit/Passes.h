// SPDX-License-Identifier: Apache-2.0
//
// Passes.h: the published passes from linalg on tensors to LLVM's dialect.
// Their names and options are a contract with vendors: see README.md.
#ifndef BACKPLANE_EMIT_PASSES_H
#define BACKPLANE_EMIT_PASSES_H

#include <memory>

namespace mlir {
class Pass;
} // namespace mlir

namespace backplane {

/// Registers every bp-* pass of this folder for textual pipelines. Safe to
/// call more than once.
void registerEmitPasses();

std::unique_ptr<mlir::Pass> createBindBuffersPass();
std::unique_ptr<mlir::Pass> createContractPass();
std::unique_ptr<mlir::Pass> createDistributePass();
std::unique_ptr<mlir::Pass> createBufferizePass();
std::unique_ptr<mlir::Pass> createVectorizePass();
std::unique_ptr<mlir::Pass> createToCpuEntryPass();
std::unique_ptr<mlir::Pass> createToLlvmPass();
std::unique_ptr<mlir::Pass> createGpuContractPass();
std::unique_ptr<mlir::Pass> createGpuReducePass();
std::unique_ptr<mlir::Pass> createPerElementPass();
std::unique_ptr<mlir::Pass> createToGpuEntryPass();
std::unique_ptr<mlir::Pass> createToSpirvPass();

} // namespace backplane

#endif // BACKPLANE_EMIT_PASSES_H
