// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/Passes.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

#include <mutex>

namespace backplane {

void registerEmitPasses() {
  static std::once_flag once;
  std::call_once(once, [] {
    mlir::registerPass(createBindBuffersPass);
    mlir::registerPass(createContractPass);
    mlir::registerPass(createDistributePass);
    mlir::registerPass(createBufferizePass);
    mlir::registerPass(createVectorizePass);
    mlir::registerPass(createToCpuEntryPass);
    mlir::registerPass(createToLlvmPass);
    mlir::registerPass(createGpuContractPass);
    mlir::registerPass(createGpuReducePass);
    mlir::registerPass(createPerElementPass);
    mlir::registerPass(createToGpuEntryPass);
    mlir::registerPass(createToSpirvPass);
  });
}

} // namespace backplane
