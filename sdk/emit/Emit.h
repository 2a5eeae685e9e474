// SPDX-License-Identifier: Apache-2.0
//
// Emit.h: from one dispatch as linalg on tensors to an object, and from several
// objects to an executable. The calls of Compile.cpp after `lower`.
//
// Thread safety: calls with distinct MLIR contexts may run concurrently.
#ifndef BACKPLANE_EMIT_EMIT_H
#define BACKPLANE_EMIT_EMIT_H

#include "sdk/emit/common/Emitter.h"

#include <functional>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace backplane {

/// The pipelines of the backend's `stages`, by stage name, in the order in
/// which they run: "tile", "bufferize", "device". Text over bp-* passes, for
/// the module.
struct EmitStage {
  std::string name;
  std::string pipeline;
};

/// Registers the dialects, interfaces and translations that dispatches and the
/// passes use. Call it once for each registry.
void registerEmitDialects(mlir::DialectRegistry &registry);

/// Called after each stage when IR dumps are wanted.
using EmitDump =
    std::function<void(llvm::StringRef stage, mlir::ModuleOp module)>;

/// The emitter of this name; null: there is none.
const Emitter *findEmitter(llvm::StringRef name);

/// "llvm-elf, spirv, ptx"
std::string emitterNames();

/// Compiles a module with one dispatch function (see README.md for its form);
/// the module is consumed. A failure is a diagnostic at the offending op.
mlir::FailureOr<ObjectCode> compileDispatch(mlir::ModuleOp module,
                                            const Emitter &emitter,
                                            const EmitTarget &target,
                                            llvm::ArrayRef<EmitStage> stages,
                                            const EmitDump &dump = nullptr);

} // namespace backplane

#endif // BACKPLANE_EMIT_EMIT_H
