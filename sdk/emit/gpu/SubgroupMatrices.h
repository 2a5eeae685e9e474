// SPDX-License-Identifier: Apache-2.0
//
// SubgroupMatrices.h: the matrices that MLIR's dialect `gpu` has for every
// vendor, as a unit: `matrix-unit=gpu`.
#ifndef BACKPLANE_EMIT_GPU_SUBGROUPMATRICES_H
#define BACKPLANE_EMIT_GPU_SUBGROUPMATRICES_H

#include "mlir/IR/DialectRegistry.h"

namespace backplane {

/// Gives the dialect `gpu` its interface `MatrixUnit`.
void registerSubgroupMatrixUnit(mlir::DialectRegistry &registry);

} // namespace backplane

#endif // BACKPLANE_EMIT_GPU_SUBGROUPMATRICES_H
