// SPDX-License-Identifier: Apache-2.0
//
// Emit.h: from one dispatch as linalg on tensors to an object, and from several
// objects to an ELF image. The calls of Compile.cpp after `lower`.
//
// Thread safety: calls with distinct MLIR contexts may run concurrently, but
// linkElf takes a lock (lld is one per process).
#ifndef BACKPLANE_EMIT_EMIT_H
#define BACKPLANE_EMIT_EMIT_H

#include "backplane/cpp/Result.h"

#include "mlir/IR/BuiltinOps.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace backplane {

/// What code generation needs of a bp_target_t.
struct EmitTarget {
  std::string emitter;  ///< "llvm-elf" or "spirv", which ignores the next three
  std::string triple;   ///< "x86_64-unknown-linux-gnu"
  std::string cpu;      ///< LLVM's name
  std::string features; ///< LLVM's "+avx2,+fma"
  uint32_t vectorBits = 0;
  uint64_t workspaceLimit = 0; ///< bytes per worker, 0: unlimited
  bool contract = true;        ///< BP_NUMERICS_CONTRACT: a*b+c may round once
};

/// The pipelines of the backend's `stages`, by stage name, in the order in
/// which they run: "tile", "bufferize", "device". Text over bp-* passes, for
/// the module.
struct EmitStage {
  std::string name;
  std::string pipeline;
};

/// How the runtime calls an entry. Text is in the syntax of Dim (graph/Dim.h),
/// over the symbols of the dispatch.
struct EntryInfo {
  std::string name;
  std::array<std::string, 3> grid;
  std::string workspace;       ///< bytes per worker
  std::vector<uint8_t> access; ///< BP_ACCESS_ bits, one per binding
  uint32_t constantCount = 0;  ///< u32 each: the symbols, in order
  std::array<uint32_t, 3> workgroup = {1, 1, 1}; ///< invocations
};

/// A compiled dispatch. `object` is a relocatable ELF file, or a SPIR-V module;
/// it may be cached under a key of the dispatch's text, target and stages.
struct ObjectCode {
  std::vector<uint8_t> object;
  EntryInfo entry;
};

/// Registers the dialects, interfaces and translations that dispatches and the
/// passes use. Call it once for each registry.
void registerEmitDialects(mlir::DialectRegistry &registry);

/// Called after each stage when IR dumps are wanted.
using EmitDump =
    std::function<void(llvm::StringRef stage, mlir::ModuleOp module)>;

/// Compiles a module with one dispatch function (see README.md for its form);
/// the module is consumed. A failure is a diagnostic at the offending op.
mlir::FailureOr<ObjectCode> compileDispatch(mlir::ModuleOp module,
                                            const EmitTarget &target,
                                            llvm::ArrayRef<EmitStage> stages,
                                            const EmitDump &dump = nullptr);

/// Links objects for `triple` into one ELF shared object without undefined
/// symbols; a failure names what lld complains about.
Result<std::vector<uint8_t>>
linkElf(llvm::StringRef triple, llvm::ArrayRef<const ObjectCode *> objects);

/// Whether there is an emitter of this name.
bool isEmitter(llvm::StringRef name);

/// Packs modules into one blob of the format "spirv" (see README.md).
std::vector<uint8_t> packSpirv(llvm::ArrayRef<const ObjectCode *> objects);

} // namespace backplane

#endif // BACKPLANE_EMIT_EMIT_H
