// SPDX-License-Identifier: Apache-2.0
//
// AbiFile.cpp: the library as a file: what it exports and needs.
#include "Groups.h"

#include <cstring>
#include <elf.h>
#include <fstream>
#include <sys/stat.h>

namespace backplane::checks {
namespace {

struct Symbol {
  std::string name;
  Elf64_Sym entry;
  bool defined() const { return entry.st_shndx != SHN_UNDEF; }
  bool weak() const { return ELF64_ST_BIND(entry.st_info) == STB_WEAK; }
};

/// The parts of an ELF file that checks ask for. A damaged file gives a
/// complaint and nothing else.
class ElfFile {
public:
  explicit ElfFile(Trial &trial) {
    std::ifstream in(trial.tested().library, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
    if (!trial.expect(read(header, 0) &&
                          std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                          header.e_ident[EI_CLASS] == ELFCLASS64,
                      "the library is no 64-bit ELF file"))
      return;
    for (unsigned i = 0; i < header.e_phnum; ++i)
      if (Elf64_Phdr segment;
          read(segment, header.e_phoff + i * sizeof segment))
        segments.push_back(segment);
    for (unsigned i = 0; i < header.e_shnum; ++i)
      if (Elf64_Shdr section;
          read(section, header.e_shoff + i * sizeof section))
        sections_.push_back(section);
    readSections();
    trial.expect(!symbols.empty() && !dynamic.empty(),
                 "the library has no dynamic symbols or no section headers");
  }

  Elf64_Ehdr header = {};
  std::vector<Elf64_Phdr> segments;
  std::vector<Symbol> symbols;
  std::vector<Elf64_Dyn> dynamic;
  std::vector<std::string> needed;

private:
  template <typename T> bool read(T &value, uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset)
      return false;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return true;
  }
  std::string text(uint64_t link, uint64_t offset) const {
    if (link >= sections_.size() || offset >= sections_[link].sh_size)
      return {};
    uint64_t at = sections_[link].sh_offset + offset;
    std::string result;
    for (char c; read(c, at++) && c;)
      result += c;
    return result;
  }
  void readSections() {
    for (const Elf64_Shdr &section : sections_) {
      uint64_t end = section.sh_offset + section.sh_size;
      if (section.sh_type == SHT_DYNSYM)
        for (uint64_t at = section.sh_offset + sizeof(Elf64_Sym); at < end;
             at += sizeof(Elf64_Sym))
          if (Elf64_Sym entry; read(entry, at))
            symbols.push_back({text(section.sh_link, entry.st_name), entry});
      if (section.sh_type != SHT_DYNAMIC)
        continue;
      for (uint64_t at = section.sh_offset; at < end; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        if (!read(entry, at) || entry.d_tag == DT_NULL)
          break;
        dynamic.push_back(entry);
        if (entry.d_tag == DT_NEEDED)
          needed.push_back(text(section.sh_link, entry.d_un.d_val));
      }
    }
  }

  std::vector<char> bytes_;
  std::vector<Elf64_Shdr> sections_;
};

bool startsWith(const std::string &text, std::string_view prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

void exports(Trial &trial) {
  unsigned queries = 0;
  for (const Symbol &symbol : ElfFile(trial).symbols)
    if (symbol.defined() && symbol.entry.st_value &&
        ELF64_ST_BIND(symbol.entry.st_info) != STB_LOCAL) {
      bool query = startsWith(symbol.name, "bp_plugin_query_v");
      queries += query;
      trial.expect(query, "the library exports '" + symbol.name +
                              "'; only bp_plugin_query_v0 may be seen");
    }
  trial.expect(queries > 0, "the library exports no bp_plugin_query_v0");
}

void noHostSymbols(Trial &trial) {
  for (const Symbol &symbol : ElfFile(trial).symbols)
    trial.expect(symbol.defined() || !startsWith(symbol.name, "bp_"),
                 "the library needs '" + symbol.name +
                     "' of the host; services come through bp_host_t");
}

void noUnique(Trial &trial) {
  for (const Symbol &symbol : ElfFile(trial).symbols)
    trial.expect(ELF64_ST_BIND(symbol.entry.st_info) != STB_GNU_UNIQUE,
                 "the symbol '" + symbol.name +
                     "' is STB_GNU_UNIQUE: the library can never be unloaded");
}

void needs(Trial &trial) {
  for (const std::string &library : ElfFile(trial).needed)
    for (const char *foreign : {"libbackplane", "libMLIR", "libLLVM"})
      trial.expect(!startsWith(library, foreign),
                   "the library needs " + library +
                       ", of which two copies in one process would clash");
}

void noTextRelocations(Trial &trial) {
  for (const Elf64_Dyn &entry : ElfFile(trial).dynamic)
    trial.expect(entry.d_tag != DT_TEXTREL, "the library has relocations in "
                                            "its code; build it with -fPIC");
}

void stackNotExecutable(Trial &trial) {
  for (const Elf64_Phdr &segment : ElfFile(trial).segments)
    trial.expect(segment.p_type != PT_GNU_STACK || !(segment.p_flags & PF_X),
                 "the library asks for an executable stack");
}

void noWritableCode(Trial &trial) {
  for (const Elf64_Phdr &segment : ElfFile(trial).segments)
    trial.expect(segment.p_type != PT_LOAD ||
                     (segment.p_flags & (PF_W | PF_X)) != (PF_W | PF_X),
                 "the library has a segment that is writable and executable");
}

void noStaticTls(Trial &trial) {
  for (const Elf64_Dyn &entry : ElfFile(trial).dynamic)
    trial.expect(entry.d_tag != DT_FLAGS || !(entry.d_un.d_val & DF_STATIC_TLS),
                 "the library uses static thread-local storage, of which a "
                 "process has little left when plug-ins are loaded");
}

void machine(Trial &trial) {
  ElfFile file(trial);
#if defined(__x86_64__)
  constexpr unsigned own = EM_X86_64;
#else
  constexpr unsigned own = EM_AARCH64;
#endif
  trial.expect(file.header.e_type == ET_DYN && file.header.e_machine == own,
               "the library is no shared object for this machine");
}

void permissions(Trial &trial) {
  struct stat info;
  if (trial.expect(stat(trial.tested().library.c_str(), &info) == 0,
                   "the library cannot be examined"))
    trial.expect(!(info.st_mode & (S_IWGRP | S_IWOTH)),
                 "the library can be written by others than its owner");
}

} // namespace

void addLibraryFile(Checks &all) {
  Group group(all, "L0/file",
              "The library exports bp_plugin_query_v0 alone and can live "
              "beside others in a process.");
  group.add("exports-only-the-entry", Depth::Smoke, exports);
  group.add("needs-no-symbol-of-the-host", Depth::Smoke, noHostSymbols);
  group.add("no-unique-symbols", noUnique);
  group.add("needs-no-shared-compiler", needs);
  group.add("no-text-relocations", noTextRelocations);
  group.add("stack-not-executable", stackNotExecutable);
  group.add("no-writable-code", noWritableCode);
  group.add("no-static-tls", noStaticTls);
  group.add("machine", Depth::Smoke, machine);
  group.add("permissions", permissions);
}

} // namespace backplane::checks
