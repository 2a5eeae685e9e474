// SPDX-License-Identifier: Apache-2.0
//
// Spirv.h: from the SPIR-V dialect to words. Private to this folder.
#ifndef BACKPLANE_EMIT_SPIRV_H
#define BACKPLANE_EMIT_SPIRV_H

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <vector>

namespace backplane {

/// The one SPIR-V module in `module`, which bp-to-spirv leaves there, as
/// little-endian words.
mlir::FailureOr<std::vector<uint8_t>> serializeSpirv(mlir::ModuleOp module);

} // namespace backplane

#endif // BACKPLANE_EMIT_SPIRV_H
