// SPDX-License-Identifier: Apache-2.0
//
// PlainFloats.h: float operations of which shading languages promise less than
// IEEE 754, spelt out in those that they do promise. Private to this folder.
#ifndef BACKPLANE_EMIT_SPIRV_PLAINFLOATS_H
#define BACKPLANE_EMIT_SPIRV_PLAINFLOATS_H

#include "mlir/IR/BuiltinOps.h"

namespace backplane {

/// Fused products (a device may round twice), minimum and maximum (which order
/// neither NaN nor zeros), trunc and the rounding of f64 become sums, products
/// and comparisons that must be kept as they are.
mlir::LogicalResult usePlainFloats(mlir::ModuleOp module);

} // namespace backplane

#endif // BACKPLANE_EMIT_SPIRV_PLAINFLOATS_H
