// SPDX-License-Identifier: Apache-2.0
//
// Stages.h: running passes with everything that they complain about collected,
// the IR verified after each, and dumped where asked for.
#ifndef BACKPLANE_COMPILER_STAGES_H
#define BACKPLANE_COMPILER_STAGES_H

#include "sdk/compiler/StageTable.h"
#include "sdk/compiler/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"

namespace backplane {

/// Those of the compiler, for its contexts.
const mlir::DialectRegistry &dialects();

/// Collects the errors of a context as text while it lives.
class Diagnostics {
public:
  explicit Diagnostics(mlir::MLIRContext &context);
  /// `status` with what was collected, which is then forgotten.
  Status take(Status status);

private:
  std::string text_;
  mlir::ScopedDiagnosticHandler handler_;
};

/// Writes the IR of each stage to `folder`/NN-name.mlir; does nothing when
/// the folder is empty.
class StageDump {
public:
  explicit StageDump(std::string folder) : folder_(std::move(folder)) {}
  /// `program`: what names of its dumps begin with, empty for the model's.
  void write(llvm::StringRef program, const Stage &stage,
             mlir::ModuleOp module) {
    write((program + llvm::StringRef(stage.name)).str(), module);
  }
  void write(llvm::StringRef name, mlir::ModuleOp module);
  bool isOn() const { return !folder_.empty(); }
  /// Why the first file that could not be written was not.
  const Status &status() const { return status_; }

private:
  Status status_;
  std::string folder_;
  unsigned count_ = 0;
};

/// Runs passes on a module, verifying after each.
Status runPasses(mlir::ModuleOp module, Diagnostics &diagnostics,
                 llvm::function_ref<void(mlir::OpPassManager &)> build);

} // namespace backplane

#endif // BACKPLANE_COMPILER_STAGES_H
