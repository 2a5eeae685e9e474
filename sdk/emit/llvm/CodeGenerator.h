// SPDX-License-Identifier: Apache-2.0
//
// CodeGenerator.h: what the emitters on LLVM's code generators share: from a
// module in LLVM's dialect to optimised IR, and from that to a file.
#ifndef BACKPLANE_EMIT_LLVM_CODEGENERATOR_H
#define BACKPLANE_EMIT_LLVM_CODEGENERATOR_H

#include "sdk/emit/common/Emitter.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <memory>

namespace backplane {

/// The code generator of a target; null, with the reason in `error`, where LLVM
/// has none.
std::unique_ptr<llvm::TargetMachine> createMachine(const EmitTarget &target,
                                                   std::string &error);

/// The module as optimised IR for the machine, in which only `entryName` is
/// seen from outside. A failure is a diagnostic.
mlir::FailureOr<std::unique_ptr<llvm::Module>>
makeOptimizedCode(mlir::ModuleOp module, const EmitTarget &target,
                  llvm::TargetMachine &machine, llvm::StringRef entryName,
                  llvm::LLVMContext &context);

/// A file of this kind; empty where the machine writes none.
std::vector<uint8_t> emitFile(llvm::Module &module,
                              llvm::TargetMachine &machine,
                              llvm::CodeGenFileType kind);

} // namespace backplane

#endif // BACKPLANE_EMIT_LLVM_CODEGENERATOR_H
