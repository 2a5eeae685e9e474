// SPDX-License-Identifier: Apache-2.0
#include "ElfFile.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

namespace backplane::checks {

namespace {

constexpr size_t longestText = 4096;
constexpr size_t maxVersions = 1024;

/// Of the start-up files, and of static libgcc and libstdc++.
constexpr std::array<std::string_view, 6> ofTheToolchain = {
    "frame_dummy",
    "init_have_lse_atomics",
    "__cpu_indicator_init",
    "__init_cpu_features_resolver",
    "_GLOBAL__sub_I_eh_alloc.cc",
    "_GLOBAL__sub_I_system_error.cc"};

} // namespace

template <typename T> bool ElfFile::get(T &value, uint64_t offset) const {
  if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset)
    return false;
  std::memcpy(&value, bytes_.data() + offset, sizeof(T));
  return true;
}

/// Those that are in the file.
template <typename T>
std::vector<T> ElfFile::entriesOf(const Elf64_Shdr &section) const {
  std::vector<T> entries;
  T entry;
  for (uint64_t i = 0; i < section.sh_size / sizeof(T); ++i) {
    if (!get(entry, section.sh_offset + i * sizeof(T)))
      break;
    entries.push_back(entry);
  }
  return entries;
}

std::string ElfFile::text(uint64_t section, uint64_t offset) const {
  if (section >= sections_.size() || offset >= sections_[section].sh_size)
    return {};
  uint64_t at = sections_[section].sh_offset + offset;
  std::string result;
  for (char c; result.size() < longestText && get(c, at++) && c;)
    result += c;
  return result;
}

Result<ElfFile> ElfFile::read(const std::string &path) {
  ElfFile file;
  std::ifstream in(path, std::ios::binary);
  file.bytes_.assign(std::istreambuf_iterator<char>(in), {});
  if (!file.get(file.header, 0) ||
      std::memcmp(file.header.e_ident, ELFMAG, SELFMAG) != 0 ||
      file.header.e_ident[EI_CLASS] != ELFCLASS64)
    return invalidArgument("the library is no 64-bit ELF file");
  for (uint64_t i = 0; i < file.header.e_phnum; ++i)
    if (Elf64_Phdr segment;
        file.get(segment, file.header.e_phoff + i * sizeof segment))
      file.segments.push_back(segment);
  for (uint64_t i = 0; i < file.header.e_shnum; ++i)
    if (Elf64_Shdr section;
        file.get(section, file.header.e_shoff + i * sizeof section))
      file.sections_.push_back(section);
  file.readTables();
  if (file.symbols.empty() || file.dynamic.empty())
    return invalidArgument(
        "the library has no dynamic symbols or no section headers");
  return file;
}

void ElfFile::readTables() {
  for (const Elf64_Shdr &section : sections_)
    if (section.sh_type == SHT_GNU_verneed)
      readVersions(section);
  for (const Elf64_Shdr &section : sections_)
    if (section.sh_type == SHT_DYNSYM)
      readSymbols(section);
    else if (section.sh_type == SHT_DYNAMIC)
      readDynamic(section);
    else if (section.sh_type == SHT_INIT_ARRAY)
      readConstructors(section);
}

void ElfFile::readDynamic(const Elf64_Shdr &section) {
  for (const Elf64_Dyn &entry : entriesOf<Elf64_Dyn>(section)) {
    if (entry.d_tag == DT_NULL)
      return;
    dynamic.push_back(entry);
    if (entry.d_tag == DT_NEEDED)
      needed.push_back(text(section.sh_link, entry.d_un.d_val));
    if (entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH)
      runPaths.push_back(text(section.sh_link, entry.d_un.d_val));
  }
}

void ElfFile::readVersions(const Elf64_Shdr &section) {
  uint64_t at = section.sh_offset;
  const uint64_t end = bytes_.size();
  for (Elf64_Verneed need;
       versions.size() < maxVersions && at < end && get(need, at);
       at += need.vn_next) {
    std::string library = text(section.sh_link, need.vn_file);
    uint64_t part = at + need.vn_aux;
    Elf64_Vernaux version;
    for (unsigned i = 0;
         i < need.vn_cnt && versions.size() < maxVersions && get(version, part);
         ++i) {
      std::string name = text(section.sh_link, version.vna_name);
      versions.push_back({library, name});
      versionNames_.emplace_back(version.vna_other, name);
      if (!version.vna_next)
        break;
      part += version.vna_next;
    }
    if (!need.vn_next)
      return;
  }
}

void ElfFile::readSymbols(const Elf64_Shdr &section) {
  std::vector<uint16_t> numbers;
  for (const Elf64_Shdr &other : sections_)
    if (other.sh_type == SHT_GNU_versym)
      numbers = entriesOf<uint16_t>(other);
  const std::vector<Elf64_Sym> entries = entriesOf<Elf64_Sym>(section);
  for (size_t i = 1; i < entries.size(); ++i) {
    ElfSymbol symbol = {text(section.sh_link, entries[i].st_name), "",
                        entries[i]};
    for (const auto &[number, name] : versionNames_)
      if (i < numbers.size() && numbers[i] == number && !symbol.defined())
        symbol.version = name;
    symbols.push_back(std::move(symbol));
  }
}

/// What an array of pointers holds once it is loaded at address 0.
std::vector<uint64_t> ElfFile::pointersOf(const Elf64_Shdr &section) const {
  std::vector<uint64_t> pointers = entriesOf<uint64_t>(section);
  for (const Elf64_Shdr &other : sections_)
    if (other.sh_type == SHT_RELA)
      for (const Elf64_Rela &relocation : entriesOf<Elf64_Rela>(other)) {
        uint64_t at =
            (relocation.r_offset - section.sh_addr) / sizeof(uint64_t);
        if (relocation.r_offset >= section.sh_addr && at < pointers.size())
          pointers[at] = uint64_t(relocation.r_addend);
      }
  return pointers;
}

/// The names of functions by address; none in a library that was stripped.
std::map<uint64_t, std::string> ElfFile::functionNames() const {
  std::map<uint64_t, std::string> names;
  for (const Elf64_Shdr &section : sections_)
    if (section.sh_type == SHT_SYMTAB)
      for (const Elf64_Sym &symbol : entriesOf<Elf64_Sym>(section))
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
          names.emplace(symbol.st_value, text(section.sh_link, symbol.st_name));
  return names;
}

void ElfFile::readConstructors(const Elf64_Shdr &section) {
  const std::vector<uint64_t> all = pointersOf(section);
  const std::map<uint64_t, std::string> names = functionNames();
  // The first one is that of the start-up files.
  for (size_t i = names.empty() ? 1 : 0; i < all.size(); ++i) {
    auto found = names.find(all[i]);
    std::array<char, 32> digits;
    std::snprintf(digits.data(), digits.size(), "0x%llx",
                  static_cast<unsigned long long>(all[i]));
    std::string name = found == names.end() ? digits.data() : found->second;
    if (std::find(ofTheToolchain.begin(), ofTheToolchain.end(), name) ==
        ofTheToolchain.end())
      constructors.push_back(name);
  }
}

} // namespace backplane::checks
