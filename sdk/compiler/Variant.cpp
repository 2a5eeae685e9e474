// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/Variant.h"

using namespace mlir;
using namespace backplane;

VariantContext::VariantContext(const CompileServices &services,
                               const std::vector<Target> &targets,
                               WeightPool &pool, std::string dumpFolder,
                               std::string kernel)
    : services(services), targets(targets), pool(pool),
      dump(std::move(dumpFolder)), kernel(std::move(kernel)),
      mlir(dialects(), MLIRContext::Threading::DISABLED), diagnostics(mlir) {
  // A message of a pass may come while an op is half rewritten.
  mlir.printOpOnDiagnostic(false);
  for (const Target &target : targets)
    kernels.emplace_back(services, target, jobs);
}

KernelDump VariantContext::kernelDump() {
  if (!dump.isOn())
    return nullptr;
  return [this](StringRef stage, ModuleOp kernel) {
    auto functions = kernel.getOps<func::FuncOp>();
    std::string name =
        functions.empty() ? "kernel" : (*functions.begin()).getName().str();
    dump.write(name + "." + stage.str(), kernel);
  };
}
