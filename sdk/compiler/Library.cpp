// SPDX-License-Identifier: Apache-2.0
//
// The C entries of libbackplane-compiler.so.
#include "sdk/compiler/Compile.h"
#include "sdk/compiler/FatalErrors.h"
#include "sdk/emit/common/Passes.h"
#include "sdk/fusion/Passes.h"
#include "sdk/layout/Passes.h"
#include "sdk/lower/Passes.h"
#include "sdk/optimize/Passes.h"

#include "llvm/Config/llvm-config.h"

#include <mutex>

namespace backplane {

/// Passes are registered once a process, for the textual pipelines of stages.
static void registerPasses() {
  static std::once_flag once;
  std::call_once(once, [] {
    bp::registerOptimizePasses();
    bp::registerLayoutPasses();
    bp::registerFusionPasses();
    bp::registerLowerPasses();
    registerEmitPasses();
  });
}

extern "C" __attribute__((visibility("default"))) bp_status_t
bp_compile_model_internal(CompileRequest *request,
                          const CompileServices *services,
                          std::string *out_message) {
  Status status = catchFatalErrors([&] {
    registerPasses();
    return compileModel(std::move(*request), *services);
  });
  *out_message = status.message();
  return status.code();
}

extern "C" __attribute__((visibility("default"))) const char *
bp_compiler_llvm_version_internal() {
  return LLVM_VERSION_STRING;
}

} // namespace backplane
