// SPDX-License-Identifier: Apache-2.0
//
// BlockTensor.h: a factor as a tensor whose blocks are copied at once. Private
// to this folder.
#ifndef BACKPLANE_EMIT_GPU_BLOCKTENSOR_H
#define BACKPLANE_EMIT_GPU_BLOCKTENSOR_H

#include "sdk/emit/gpu/MatrixUnit.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace backplane {

struct BlockTensor {
  /// Axis 0 has the loops of a line, axis 1 those of the lines.
  TensorInBinding tensor;
  llvm::SmallVector<unsigned> outer; ///< the loop of each further axis
};

/// An input of an op that is a buffer of known sizes: `inLine` are its last
/// axes, `lines` others that follow each other, and each further axis is a
/// loop. None where it is anything else.
std::optional<BlockTensor> findBlockTensor(mlir::linalg::GenericOp op,
                                           mlir::OpOperand &input,
                                           llvm::ArrayRef<unsigned> inLine,
                                           llvm::ArrayRef<unsigned> lines);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_BLOCKTENSOR_H
