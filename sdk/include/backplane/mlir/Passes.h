// SPDX-License-Identifier: Apache-2.0
//
// Passes.h: what a library of C++ passes includes, in one of its files. Its
// plug-in's manifest declares the library, the version of LLVM and the passes;
// pipelines of the plug-in's targets then name them. The library links libMLIR
// and libLLVM dynamically and exports the three functions below, of which it
// defines the last.
#ifndef BACKPLANE_MLIR_PASSES_H
#define BACKPLANE_MLIR_PASSES_H

#include "backplane/mlir/Build.h"

#include "mlir/Pass/Pass.h"

#include <functional>
#include <memory>

namespace backplane {

/// Makes a pass; called for each pipeline and each time that it runs.
using PassFactory = std::function<std::unique_ptr<mlir::Pass>()>;

/// Takes the passes of a library.
class PassSink {
public:
  virtual void put(PassFactory factory) = 0;
  /// PassT has the name and the stage's root op that the manifest declares:
  /// getArgument(), and OperationPass<mlir::ModuleOp> or of another op.
  template <typename PassT> void put() {
    put([] { return std::make_unique<PassT>(); });
  }

protected:
  ~PassSink() = default;
};

} // namespace backplane

#define BP_MLIR_EXPORT extern "C" __attribute__((used, visibility("default")))

/// Asked before anything of C++ is called.
BP_MLIR_EXPORT inline const char *bp_mlir_build_v0() {
  return backplane::mlirBuild;
}

/// `op` is of the compiler.
BP_MLIR_EXPORT inline void
bp_mlir_identity_v0(mlir::Operation *op, backplane::MlirIdentity *identity) {
  *identity = backplane::MlirIdentity::of(op);
}

/// Puts each pass. Defined by the library.
BP_MLIR_EXPORT void bp_mlir_passes_v0(backplane::PassSink *sink);

#endif // BACKPLANE_MLIR_PASSES_H
