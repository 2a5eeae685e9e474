// SPDX-License-Identifier: Apache-2.0
//
// SoftmaxOps.h: what the ops of a softmax do, read from their bodies. Private
// to this folder.
#ifndef BACKPLANE_EMIT_GPU_SOFTMAXOPS_H
#define BACKPLANE_EMIT_GPU_SOFTMAXOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace backplane {

/// An operand of the body that is an input as it is; null otherwise.
mlir::OpOperand *inputOf(mlir::linalg::GenericOp op, mlir::Value value);

/// What an elementwise op yields, before it is rounded. `zeroes` is set where
/// what is no number becomes zero behind that, unless it is null.
mlir::Operation *yieldOf(mlir::linalg::GenericOp op, bool *zeroes = nullptr);

/// The op that makes a tensor, in front of reshapes; null for any other kind.
mlir::linalg::GenericOp behindReshapes(mlir::Value value);

/// Whether what a reduction starts with is a number that passes the test.
bool startsWith(mlir::linalg::GenericOp op,
                bool (*test)(const llvm::APFloat &));

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_SOFTMAXOPS_H
