// SPDX-License-Identifier: Apache-2.0
//
// NarrowFloats.h: f16 and bf16 as 16 bits, for targets that only hold and move
// them. Private to this folder.
#ifndef BACKPLANE_EMIT_SPIRV_NARROWFLOATS_H
#define BACKPLANE_EMIT_SPIRV_NARROWFLOATS_H

#include "mlir/IR/BuiltinOps.h"

namespace backplane {

/// Conversions from and to f16 become integer arithmetic, signs of narrow
/// floats bits; then every f16 and bf16 in the module is an i16. bp-expand-math
/// has done the conversions of bf16. Any other arithmetic on them is a
/// diagnostic.
mlir::LogicalResult holdNarrowFloatsAsBits(mlir::ModuleOp module);

} // namespace backplane

#endif // BACKPLANE_EMIT_SPIRV_NARROWFLOATS_H
