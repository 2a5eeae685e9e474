// SPDX-License-Identifier: Apache-2.0
//
// The emitter "llvm-elf": LLVM's code generator, then lld.
#include "sdk/emit/llvm/Emitter.h"

#include "sdk/emit/llvm/CodeGenerator.h"
#include "sdk/emit/llvm/Lld.h"

#include "llvm/TargetParser/Triple.h"

using namespace mlir;

namespace backplane {

static FailureOr<std::vector<uint8_t>>
serialize(ModuleOp module, const EmitTarget &target, StringRef entryName) {
  std::string error;
  auto machine = createMachine(target, error);
  if (!machine)
    return module.emitError("no code generator for ")
           << target.triple << ": " << error;
  llvm::LLVMContext context;
  auto code = makeOptimizedCode(module, target, *machine, entryName, context);
  if (failed(code))
    return failure();
  std::vector<uint8_t> object =
      emitFile(**code, *machine, llvm::CodeGenFileType::ObjectFile);
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
static Result<LinkedImage> link(const EmitTarget &target,
                                ArrayRef<const ObjectCode *> objects) {
  const char *machine = emulation(target.triple);
  if (!machine)
    return unimplemented("no ELF linker for " + target.triple);
  std::vector<std::span<const uint8_t>> files;
  for (const ObjectCode *object : objects)
    files.emplace_back(object->object);
  auto image = runLld({"-shared", "-m", machine, "--build-id=none",
                       "--strip-all", "--no-undefined", "-z", "noexecstack"},
                      files);
  if (!image)
    return image.status();
  return LinkedImage{std::move(*image), {}};
}

Emitter llvmElfEmitter() {
  return {.name = "llvm-elf",
          .serialize = serialize,
          .link = link,
          .hasConstantMemory = true};
}

} // namespace backplane
