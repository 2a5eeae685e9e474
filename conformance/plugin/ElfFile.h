// SPDX-License-Identifier: Apache-2.0
//
// ElfFile.h: what a library says of itself as a file: its dynamic symbols, what
// it needs, its segments and what runs when it is loaded. Nothing is mapped or
// run; a damaged file gives a failure or fewer entries, never more than it has.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_ELFFILE_H
#define BACKPLANE_CONFORMANCE_PLUGIN_ELFFILE_H

#include "backplane/cpp/Result.h"

#include <elf.h>
#include <map>
#include <string>
#include <vector>

namespace backplane::checks {

/// A dynamic symbol.
struct ElfSymbol {
  std::string name;
  std::string version; ///< that it needs, "GLIBC_2.34"; empty: any
  Elf64_Sym entry = {};
  bool defined() const { return entry.st_shndx != SHN_UNDEF; }
  bool weak() const { return ELF64_ST_BIND(entry.st_info) == STB_WEAK; }
  /// Seen by other libraries. Names of versions are symbols without a value.
  bool exported() const {
    return defined() && entry.st_value &&
           ELF64_ST_BIND(entry.st_info) != STB_LOCAL;
  }
};

/// A version of a library that the file needs: {"libc.so.6", "GLIBC_2.34"}.
struct ElfVersion {
  std::string library, version;
};

class ElfFile {
public:
  /// Fails unless the file is a 64-bit ELF library with a dynamic section.
  static Result<ElfFile> read(const std::string &path);

  Elf64_Ehdr header = {};
  std::vector<Elf64_Phdr> segments;
  std::vector<ElfSymbol> symbols;
  std::vector<Elf64_Dyn> dynamic;
  std::vector<std::string> needed;   ///< libraries, in order
  std::vector<std::string> runPaths; ///< of DT_RPATH and DT_RUNPATH, unsplit
  std::vector<ElfVersion> versions;
  /// Functions that run when it is loaded, those of the toolchain left out;
  /// "0x1234" for one whose name was stripped.
  std::vector<std::string> constructors;

private:
  ElfFile() = default;
  template <typename T> bool get(T &value, uint64_t offset) const;
  template <typename T>
  std::vector<T> entriesOf(const Elf64_Shdr &section) const;
  std::string text(uint64_t section, uint64_t offset) const;
  void readTables();
  void readDynamic(const Elf64_Shdr &section);
  void readSymbols(const Elf64_Shdr &section);
  void readVersions(const Elf64_Shdr &section);
  void readConstructors(const Elf64_Shdr &section);
  std::vector<uint64_t> pointersOf(const Elf64_Shdr &section) const;
  std::map<uint64_t, std::string> functionNames() const;

  std::vector<char> bytes_;
  std::vector<Elf64_Shdr> sections_;
  /// Of a version's number in the symbols' table.
  std::vector<std::pair<uint16_t, std::string>> versionNames_;
};

} // namespace backplane::checks

#endif // BACKPLANE_CONFORMANCE_PLUGIN_ELFFILE_H
