// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/Stages.h"

#include "sdk/dialect/Convert.h"
#include "sdk/dialect/Graph.h"
#include "sdk/emit/Emit.h"
#include "sdk/support/AtomicFile.h"
#include "sdk/support/TextViews.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace backplane;

const DialectRegistry &backplane::dialects() {
  static const DialectRegistry registry = [] {
    DialectRegistry all;
    all.insert<bp::BpDialect, func::FuncDialect>();
    registerEmitDialects(all);
    return all;
  }();
  return registry;
}

Diagnostics::Diagnostics(MLIRContext &context)
    : handler_(&context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return success();
        std::string where = bp::locationText(diagnostic.getLocation());
        text_ += (text_.empty() ? "" : "; ") +
                 (where.empty() ? "" : where + ": ") + diagnostic.str();
        return success();
      }) {}

Status Diagnostics::take(Status status) {
  std::string text = std::exchange(text_, {});
  if (status.ok() || text.empty())
    return status;
  return Status(status.code(), status.message() + ": " + text);
}

void StageDump::write(StringRef name, ModuleOp module) {
  if (folder_.empty())
    return;
  llvm::sys::fs::create_directories(folder_);
  std::string path;
  llvm::raw_string_ostream(path)
      << folder_ << "/" << llvm::format("%02u-", count_++) << name << ".mlir";
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  flags.enableDebugInfo(true, false);
  module->print(stream, flags);
  if (status_.ok())
    status_ = writeFileAtomically(path, asBytes(text));
}

Status backplane::runPasses(ModuleOp module, Diagnostics &diagnostics,
                            function_ref<void(OpPassManager &)> build) {
  PassManager manager(module.getContext());
  manager.enableVerifier(true);
  build(manager);
  if (failed(manager.run(module)))
    return diagnostics.take(internalError("a pass failed"));
  return {};
}
