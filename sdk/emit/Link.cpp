// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/Emit.h"
#include "sdk/emit/Lld.h"

#include "llvm/TargetParser/Triple.h"

using namespace mlir;

namespace backplane {

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

Result<std::vector<uint8_t>> linkElf(StringRef triple,
                                     ArrayRef<const ObjectCode *> objects) {
  const char *machine = emulation(triple);
  if (!machine)
    return unimplemented("no ELF linker for " + triple.str());
  std::vector<std::span<const uint8_t>> files;
  for (const ObjectCode *object : objects)
    files.emplace_back(object->object);
  return runLld({"-shared", "-m", machine, "--build-id=none", "--strip-all",
                 "--no-undefined", "-z", "noexecstack"},
                files);
}

} // namespace backplane
