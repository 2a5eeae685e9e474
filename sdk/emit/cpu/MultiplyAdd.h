// SPDX-License-Identifier: Apache-2.0
//
// MultiplyAdd.h: one step of a contraction. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_MULTIPLYADD_H
#define BACKPLANE_EMIT_CPU_MULTIPLYADD_H

#include "mlir/IR/Builders.h"

namespace backplane {

/// a * b + sum, of integers or floats, scalars or vectors. Floats are rounded
/// once, or twice in a module with `bp.round_products`.
mlir::Value multiplyAdd(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value a, mlir::Value b, mlir::Value sum);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_MULTIPLYADD_H
