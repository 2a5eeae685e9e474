// SPDX-License-Identifier: Apache-2.0
//
// One dispatch from linalg to an object file: the backend's stages, then LLVM.
#include "sdk/emit/Emit.h"

#include "sdk/emit/Spirv.h"

#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
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

static LogicalResult runStage(ModuleOp module, const EmitStage &stage) {
  PassManager manager(module.getContext());
  std::string errors;
  llvm::raw_string_ostream out(errors);
  if (failed(parsePassPipeline(stage.pipeline, manager, out)))
    return module.emitError("stage ") << stage.name << ": " << errors;
  return manager.run(module);
}

static FailureOr<EntryInfo> readEntry(ModuleOp module) {
  auto entry = module->getAttrOfType<DictionaryAttr>("bp.entry");
  if (!entry)
    return module.emitError("the stages did not end in an entry; the last one "
                            "needs bp-to-cpu-entry or bp-to-gpu-entry");
  EntryInfo info;
  info.name = cast<StringAttr>(entry.get("name")).str();
  info.workspace = cast<StringAttr>(entry.get("workspace")).str();
  auto grid = cast<ArrayAttr>(entry.get("grid"));
  for (size_t i = 0; i < 3; ++i)
    info.grid[i] = cast<StringAttr>(grid[i]).str();
  for (Attribute access : cast<ArrayAttr>(entry.get("access")))
    info.access.push_back(cast<IntegerAttr>(access).getInt());
  if (auto workgroup = entry.getAs<ArrayAttr>("workgroup"))
    for (size_t i = 0; i < 3; ++i)
      info.workgroup[i] = uint32_t(cast<IntegerAttr>(workgroup[i]).getInt());
  info.constantCount = cast<IntegerAttr>(entry.get("constants")).getInt();
  module->removeAttr("bp.entry");
  return info;
}

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
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
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
generate(ModuleOp module, const EmitTarget &target, StringRef entryName) {
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

FailureOr<ObjectCode> compileDispatch(ModuleOp module, const EmitTarget &target,
                                      ArrayRef<EmitStage> stages,
                                      const EmitDump &dump) {
  for (const EmitStage &stage : stages) {
    if (failed(runStage(module, stage)))
      return failure();
    if (dump)
      dump(stage.name, module);
  }
  FailureOr<EntryInfo> entry = readEntry(module);
  if (failed(entry))
    return failure();
  auto object = target.emitter == "spirv"
                    ? serializeSpirv(module)
                    : generate(module, target, entry->name);
  if (failed(object))
    return failure();
  return ObjectCode{std::move(*object), std::move(*entry)};
}

} // namespace backplane
