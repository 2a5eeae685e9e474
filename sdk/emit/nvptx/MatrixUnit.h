// SPDX-License-Identifier: Apache-2.0
//
// MatrixUnit.h: the matrix instructions of NVIDIA's GPUs from sm_80 on, as the
// unit of the dialect "nvvm" (gpu/MatrixUnit.h).
#ifndef BACKPLANE_EMIT_NVPTX_MATRIXUNIT_H
#define BACKPLANE_EMIT_NVPTX_MATRIXUNIT_H

#include "mlir/IR/DialectRegistry.h"

namespace backplane {

void registerNvptxMatrixUnit(mlir::DialectRegistry &registry);

} // namespace backplane

#endif // BACKPLANE_EMIT_NVPTX_MATRIXUNIT_H
