// SPDX-License-Identifier: Apache-2.0
#include "Cubin.h"

#include <cstdint>
#include <cstring>
#include <elf.h>

namespace backplane::cuda {
namespace {

constexpr uint16_t machineCuda = 190; // EM_CUDA

template <typename T> T read(std::string_view bytes, uint64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

bool inside(std::string_view bytes, uint64_t at, uint64_t size) {
  return at <= bytes.size() && size <= bytes.size() - at;
}

bool sectionsAreInside(std::string_view bytes, const Elf64_Ehdr &header) {
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    auto section =
        read<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_NOBITS &&
        !inside(bytes, section.sh_offset, section.sh_size))
      return false;
  }
  return true;
}

bool segmentsAreInside(std::string_view bytes, const Elf64_Ehdr &header) {
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    auto segment =
        read<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (!inside(bytes, segment.p_offset, segment.p_filesz))
      return false;
  }
  return true;
}

/// The tables themselves: their places and the sizes of their rows.
bool tablesAreInside(std::string_view bytes, const Elf64_Ehdr &header) {
  auto table = [&](uint64_t at, uint64_t count, uint64_t size, uint64_t row) {
    return !count || (size == row && inside(bytes, at, count * row));
  };
  return table(header.e_shoff, header.e_shnum, header.e_shentsize,
               sizeof(Elf64_Shdr)) &&
         table(header.e_phoff, header.e_phnum, header.e_phentsize,
               sizeof(Elf64_Phdr));
}

} // namespace

bool isWholeCubin(std::string_view bytes, std::string *reason) {
  *reason = "damaged blob: it is no cubin";
  if (bytes.size() < sizeof(Elf64_Ehdr) ||
      bytes.substr(0, SELFMAG) != std::string_view(ELFMAG, SELFMAG))
    return false;
  auto header = read<Elf64_Ehdr>(bytes, 0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_machine != machineCuda || !header.e_shnum)
    return false;
  *reason = "damaged blob: the cubin is cut off";
  if (!tablesAreInside(bytes, header) || !sectionsAreInside(bytes, header) ||
      !segmentsAreInside(bytes, header))
    return false;
  reason->clear();
  return true;
}

} // namespace backplane::cuda
