// SPDX-License-Identifier: Apache-2.0
#include "Cubin.h"

#include <cstdint>
#include <cstring>
#include <elf.h>

namespace backplane::cuda {
namespace {

constexpr uint16_t machineCuda = 190; // EM_CUDA
constexpr std::string_view infoPrefix = ".nv.info.";

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

bool isWhole(std::string_view bytes, std::string *reason) {
  *reason = "damaged blob: it is no cubin";
  if (bytes.size() < sizeof(Elf64_Ehdr) ||
      bytes.substr(0, SELFMAG) != std::string_view(ELFMAG, SELFMAG))
    return false;
  auto header = read<Elf64_Ehdr>(bytes, 0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_machine != machineCuda || !header.e_shnum)
    return false;
  *reason = "damaged blob: the cubin is cut off";
  return tablesAreInside(bytes, header) && sectionsAreInside(bytes, header) &&
         segmentsAreInside(bytes, header);
}

/// The sections of a whole file.
class Sections {
public:
  explicit Sections(std::string_view bytes)
      : bytes_(bytes), header_(read<Elf64_Ehdr>(bytes, 0)) {
    if (header_.e_shstrndx < header_.e_shnum)
      names_ = contents(header_.e_shstrndx);
  }

  uint64_t count() const { return header_.e_shnum; }
  std::string_view contents(uint64_t i) const {
    Elf64_Shdr section = row(i);
    return section.sh_type == SHT_NOBITS
               ? std::string_view()
               : bytes_.substr(section.sh_offset, section.sh_size);
  }
  /// Empty: it has none.
  std::string_view name(uint64_t i) const {
    uint64_t at = row(i).sh_name;
    return at < names_.size() ? names_.substr(at, names_.find('\0', at) - at)
                              : std::string_view();
  }

private:
  Elf64_Shdr row(uint64_t i) const {
    return read<Elf64_Shdr>(bytes_, header_.e_shoff + i * sizeof(Elf64_Shdr));
  }

  std::string_view bytes_;
  Elf64_Ehdr header_;
  std::string_view names_;
};

/// Sizes by the place of a parameter.
using Places = std::map<uint16_t, uint32_t>;

/// A record of a parameter: word, place, offset, size; a short one has the size
/// in the upper 14 bits of its last word.
void readParameter(std::string_view record, bool isShort, Places &out) {
  uint32_t last = read<uint32_t>(record, 8);
  out.emplace(read<uint16_t>(record, 4), isShort ? last >> 18 : last);
}

/// The attributes of a kernel: format, kind, and two bytes which are the value
/// or the size of what follows. False: they are damaged.
bool readAttributes(std::string_view info, Places &out) {
  constexpr char sized = 4, shortParameter = 0x17, longParameter = 0x45;
  constexpr size_t head = 4, parameterBytes = 12;
  while (info.size() >= head) {
    char format = info[0], kind = info[1];
    size_t bytes = format == sized ? read<uint16_t>(info, 2) : 0;
    if (bytes > info.size() - head)
      return false;
    bool isShort = kind == shortParameter;
    if (bytes == parameterBytes && (isShort || kind == longParameter))
      readParameter(info.substr(head), isShort, out);
    info.remove_prefix(head + bytes);
  }
  return out.empty() || out.rbegin()->first == out.size() - 1;
}

} // namespace

bool readCubin(std::string_view bytes, Entries &out, std::string *reason) {
  if (!isWhole(bytes, reason))
    return false;
  Sections sections(bytes);
  for (uint64_t i = 0; i < sections.count(); ++i) {
    std::string_view name = sections.name(i);
    if (!name.starts_with(infoPrefix))
      continue;
    Places places;
    name.remove_prefix(infoPrefix.size());
    *reason = "damaged blob: the parameters of \"" + std::string(name) + "\"";
    if (!readAttributes(sections.contents(i), places))
      return false;
    std::vector<uint32_t> sizes;
    for (auto [place, size] : places)
      sizes.push_back(size);
    if (!out.emplace(name, sizes).second)
      return false;
  }
  reason->clear();
  return true;
}

} // namespace backplane::cuda
