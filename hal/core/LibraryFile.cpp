// SPDX-License-Identifier: Apache-2.0
#include "hal/core/LibraryFile.h"
#include "sdk/support/Error.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <elf.h>
#include <string>
#include <unistd.h>

namespace backplane {
namespace {

#if defined(__x86_64__)
constexpr uint16_t ownMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t ownMachine = EM_AARCH64;
#else
#error "name the ELF machine of this architecture"
#endif

bool readAt(const TrustedFile &file, void *to, uint64_t size, uint64_t offset) {
  return offset <= file.size() && size <= file.size() - offset &&
         pread(file.fd(), to, size, off_t(offset)) == ssize_t(size);
}

std::string machineName(uint16_t machine) {
  switch (machine) {
  case EM_X86_64:
    return "x86_64";
  case EM_AARCH64:
    return "aarch64";
  case EM_386:
    return "i386";
  case EM_ARM:
    return "arm";
  case EM_RISCV:
    return "riscv";
  default:
    return "ELF machine " + std::to_string(machine);
  }
}

Status refused(const std::string &what) {
  return Status(BP_STATUS_FAILED_PRECONDITION,
                "cannot load the library: " + what);
}

Status checkKind(const Elf64_Ehdr &header) {
  constexpr auto data =
      std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (header.e_ident[EI_CLASS] == ELFCLASS64 &&
      header.e_ident[EI_DATA] == data && header.e_machine == ownMachine)
    return header.e_type == ET_DYN
               ? Status()
               : refused("the file is ELF, but no shared library; link it with "
                         "-shared");
  std::string bits =
      header.e_ident[EI_CLASS] == ELFCLASS32 ? " of 32 bits" : "";
  return refused("it is built for " + machineName(header.e_machine) + bits +
                 ", this machine is " + machineName(ownMachine) +
                 "; build it for this machine");
}

Status cutShort(const TrustedFile &file, uint64_t needed) {
  return refused("the file is cut short: it has " +
                 std::to_string(file.size()) + " bytes, its headers speak of " +
                 std::to_string(needed) + "; copy or build it again");
}

/// Where `count` parts of `size` bytes end; UINT64_MAX when that overflows.
uint64_t endOf(uint64_t offset, uint64_t count, uint64_t size) {
  uint64_t bytes = 0, end = 0;
  return __builtin_mul_overflow(count, size, &bytes) ||
                 __builtin_add_overflow(offset, bytes, &end)
             ? UINT64_MAX
             : end;
}

} // namespace

Status checkLibraryFile(const TrustedFile &file) {
  Elf64_Ehdr header = {};
  if (!file.size())
    return refused("the file is empty; copy or build it again");
  bool whole = readAt(file, &header, sizeof(header), 0);
  if (!whole)
    (void)readAt(file, &header, std::min<uint64_t>(file.size(), SELFMAG), 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return refused("the file is no ELF library");
  if (!whole)
    return cutShort(file, sizeof(header));
  if (Status status = checkKind(header); !status.ok())
    return status;
  uint64_t end = std::max(
      endOf(header.e_phoff, header.e_phnum, sizeof(Elf64_Phdr)),
      header.e_shoff ? endOf(header.e_shoff, header.e_shnum, sizeof(Elf64_Shdr))
                     : 0);
  if (end > file.size())
    return cutShort(file, end);
  if (!header.e_phnum || header.e_phentsize != sizeof(Elf64_Phdr))
    return refused("its program headers are damaged; build it again");
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part = {};
    if (!readAt(file, &part, sizeof(part), header.e_phoff + i * sizeof(part)))
      return cutShort(file, end);
    end = endOf(part.p_offset, 1, part.p_filesz);
    if (end > file.size())
      return cutShort(file, end);
  }
  return {};
}

} // namespace backplane
