// SPDX-License-Identifier: Apache-2.0
//
// GuardLoops.h: shaders that say when a device would end their loops early.
// Lavapipe does after 65535 iterations of all loops of an invocation together,
// and goes on as if they were done. Private to this folder.
#ifndef BACKPLANE_EMIT_SPIRV_GUARDLOOPS_H
#define BACKPLANE_EMIT_SPIRV_GUARDLOOPS_H

#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"

namespace backplane {

/// Number of the specialization constant, a float, that says how many turns the
/// device carries out. Without it there is no limit.
inline constexpr uint32_t maxIterationsId = 0;

/// Lets a function whose scf loops may have many iterations count them before
/// it begins, from its sizes, and set the error word (storage buffer `binding`)
/// when they are more than the device's. Nothing is added to functions whose
/// loops are known to be short. A loop whose bounds are made by another loop
/// counts as one iteration of that.
void guardLoops(mlir::spirv::ModuleOp module, mlir::spirv::FuncOp function,
                unsigned binding);

} // namespace backplane

#endif // BACKPLANE_EMIT_SPIRV_GUARDLOOPS_H
