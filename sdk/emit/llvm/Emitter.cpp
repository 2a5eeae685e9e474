// SPDX-License-Identifier: Apache-2.0
//
// The emitter "llvm-elf": LLVM's code generator, then lld.
#include "sdk/emit/llvm/Emitter.h"

#include "sdk/emit/llvm/Lld.h"

#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Target/LLVMIR/Export.h"

#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

using namespace mlir;

namespace backplane {

static std::unique_ptr<llvm::TargetMachine>
createMachine(const EmitTarget &target, std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
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

static std::vector<uint8_t> emitObject(llvm::Module &module,
                                       llvm::TargetMachine &machine) {
  SmallVector<char, 0> buffer;
  llvm::raw_svector_ostream out(buffer);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr,
                                  llvm::CodeGenFileType::ObjectFile))
    return {};
  passes.run(module);
  return std::vector<uint8_t>(buffer.begin(), buffer.end());
}

static FailureOr<std::vector<uint8_t>>
serialize(ModuleOp module, const EmitTarget &target, StringRef entryName) {
  std::string error;
  auto machine = createMachine(target, error);
  if (!machine)
    return module.emitError("no code generator for ")
           << target.triple << ": " << error;
  llvm::LLVMContext context;
  auto code = translateModuleToLLVMIR(module, context);
  if (!code)
    return module.emitError("cannot translate to LLVM IR");
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  setFunctionAttributes(*code, target, entryName);
  if (auto failed = makeOptimizingTransformer(3, 0, machine.get())(code.get()))
    return module.emitError("LLVM: ") << llvm::toString(std::move(failed));
  std::vector<uint8_t> object = emitObject(*code, *machine);
  if (object.empty())
    return module.emitError("cannot emit an object file for ") << target.triple;
  return object;
}

static const char *emulation(StringRef triple) {
  switch (llvm::Triple(triple).getArch()) {
  case llvm::Triple::x86_64:
    return "elf_x86_64";
  case llvm::Triple::aarch64:
    return "aarch64linux";
  default:
    return nullptr;
  }
}

/// One ELF shared object without undefined symbols. lld is one per process, so
/// that this takes a lock.
static Result<std::vector<uint8_t>> link(const EmitTarget &target,
                                         ArrayRef<const ObjectCode *> objects) {
  const char *machine = emulation(target.triple);
  if (!machine)
    return unimplemented("no ELF linker for " + target.triple);
  std::vector<std::span<const uint8_t>> files;
  for (const ObjectCode *object : objects)
    files.emplace_back(object->object);
  return runLld({"-shared", "-m", machine, "--build-id=none", "--strip-all",
                 "--no-undefined", "-z", "noexecstack"},
                files);
}

Emitter llvmElfEmitter() {
  return {.name = "llvm-elf",
          .serialize = serialize,
          .link = link,
          .hasConstantMemory = true};
}

} // namespace backplane
