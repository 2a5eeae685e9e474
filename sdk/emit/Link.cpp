// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/Emit.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

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

static bool writeFile(StringRef path, ArrayRef<uint8_t> bytes) {
  std::error_code error;
  llvm::raw_fd_ostream file(path, error);
  if (error)
    return false;
  file.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  file.close();
  return !file.has_error();
}

static bool runLld(ArrayRef<std::string> arguments, std::string &errors) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  SmallVector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  llvm::raw_string_ostream out(errors);
  lld::Result result =
      lld::lldMain(pointers, out, out, {{lld::Gnu, &lld::elf::link}});
  return result.retCode == 0;
}

FailureOr<std::vector<uint8_t>> linkElf(Location loc, StringRef triple,
                                        ArrayRef<const ObjectCode *> objects) {
  const char *machine = emulation(triple);
  if (!machine)
    return emitError(loc) << "no ELF linker for " << triple;
  SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("bp-link", folder))
    return emitError(loc) << "cannot make a temporary folder";
  llvm::scope_exit removeFolder(
      [&] { (void)llvm::sys::fs::remove_directories(folder); });
  std::string output = (folder + "/image.so").str();
  std::vector<std::string> arguments = {
      "ld.lld",      "-shared",        "-m", machine,       "--build-id=none",
      "--strip-all", "--no-undefined", "-z", "noexecstack", "-o",
      output};
  for (auto [i, object] : llvm::enumerate(objects)) {
    arguments.push_back((folder + "/" + llvm::Twine(i) + ".o").str());
    if (!writeFile(arguments.back(), object->object))
      return emitError(loc) << "cannot write to " << folder;
  }
  std::string errors;
  if (!runLld(arguments, errors))
    return emitError(loc) << "linking failed: " << errors;
  auto image = llvm::MemoryBuffer::getFile(output);
  if (!image)
    return emitError(loc) << "cannot read the linked image back";
  StringRef bytes = (*image)->getBuffer();
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

} // namespace backplane
