// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/llvm/CodeGenerator.h"
#include "sdk/emit/llvm/SignallingNans.h"

#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

using namespace mlir;

namespace backplane {

std::unique_ptr<llvm::TargetMachine> createMachine(const EmitTarget &target,
                                                   std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
    llvm::InitializeAllAsmParsers();
  });
  llvm::Triple triple(target.triple);
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found)
    return nullptr;
  llvm::TargetOptions options;
  options.AllowFPOpFusion =
      target.contract ? llvm::FPOpFusion::Standard : llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(
      triple, target.cpu, target.features, options, llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// Code of a dispatch may call nothing: loops stay loops.
static void setFunctionAttributes(llvm::Module &module,
                                  const EmitTarget &target,
                                  StringRef entryName) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("no-builtins");
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("target-cpu", target.cpu);
    if (!target.features.empty())
      function.addFnAttr("target-features", target.features);
    if (target.vectorBits)
      function.addFnAttr("prefer-vector-width",
                         std::to_string(target.vectorBits));
    if (function.getName() != entryName)
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  }
}

FailureOr<std::unique_ptr<llvm::Module>>
makeOptimizedCode(ModuleOp module, const EmitTarget &target,
                  llvm::TargetMachine &machine, StringRef entryName,
                  llvm::LLVMContext &context) {
  auto code = translateModuleToLLVMIR(module, context);
  if (!code)
    return module.emitError("cannot translate to LLVM IR");
  code->setTargetTriple(machine.getTargetTriple());
  code->setDataLayout(machine.createDataLayout());
  setFunctionAttributes(*code, target, entryName);
  if (auto failed = makeOptimizingTransformer(3, 0, &machine)(code.get()))
    return module.emitError("LLVM: ") << llvm::toString(std::move(failed));
  if (machine.getTargetTriple().isAArch64())
    keepSelections(*code);
  return code;
}

std::vector<uint8_t> emitFile(llvm::Module &module,
                              llvm::TargetMachine &machine,
                              llvm::CodeGenFileType kind) {
  SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream out(buffer);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, kind))
    return {};
  passes.run(module);
  return std::vector<uint8_t>(buffer.begin(), buffer.end());
}

} // namespace backplane
