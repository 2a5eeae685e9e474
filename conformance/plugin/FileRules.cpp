// SPDX-License-Identifier: Apache-2.0
#include "FileRules.h"
#include "backplane/plugin.h"
#include "hal/core/Manifest.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace backplane::checks {

namespace {

constexpr std::string_view queries = "bp_plugin_query_v";

/// The first eight, and how many more there are.
Found shortened(Found all) {
  constexpr size_t most = 8;
  if (all.size() > most) {
    std::string rest = std::to_string(all.size() - most);
    all.resize(most);
    all.back() += ", and so on with " + rest + " more";
  }
  return all;
}

bool isUnique(const ElfSymbol &symbol) {
  return ELF64_ST_BIND(symbol.entry.st_info) == STB_GNU_UNIQUE;
}

/// One complaint for each symbol that `breaks` says so of.
template <typename Breaks>
Found symbolsThat(const ElfFile &file, const std::string &what, Breaks breaks) {
  Found found;
  for (const ElfSymbol &symbol : file.symbols)
    if (breaks(symbol))
      found.push_back(what + " '" + symbol.name + "'");
  return shortened(std::move(found));
}

bool hasTag(const ElfFile &file, int64_t tag) {
  return std::any_of(
      file.dynamic.begin(), file.dynamic.end(),
      [&](const Elf64_Dyn &entry) { return entry.d_tag == tag; });
}

uint64_t flagsOf(const ElfFile &file) {
  for (const Elf64_Dyn &entry : file.dynamic)
    if (entry.d_tag == DT_FLAGS)
      return entry.d_un.d_val;
  return 0;
}

template <typename Breaks>
Found ifSegment(const ElfFile &file, const char *what, Breaks breaks) {
  if (std::any_of(file.segments.begin(), file.segments.end(), breaks))
    return {what};
  return {};
}

/// The highest version with this prefix that is above `floor`.
void addNewer(const ElfFile &file, const std::string &prefix,
              const std::string &floor, Found &found) {
  std::map<std::string, std::string> highest; // by library
  for (const ElfVersion &one : file.versions) {
    if (!one.version.starts_with(prefix))
      continue;
    std::string number = one.version.substr(prefix.size());
    std::string &best = highest[one.library];
    if (compareVersions(number, floor) > 0 && compareVersions(number, best) > 0)
      best = number;
  }
  for (const auto &[library, number] : highest)
    if (!number.empty())
      found.push_back("needs " + prefix + number + " of " + library +
                      ", the oldest system that is served has " + prefix +
                      floor);
}

} // namespace

Found lacksQuery(const ElfFile &file) {
  bool has = std::any_of(
      file.symbols.begin(), file.symbols.end(), [](const ElfSymbol &symbol) {
        return symbol.exported() && symbol.name == BP_PLUGIN_QUERY_SYMBOL;
      });
  if (has)
    return {};
  return {"exports no " BP_PLUGIN_QUERY_SYMBOL};
}

Found foreignExports(const ElfFile &file) {
  return symbolsThat(file, "exports", [](const ElfSymbol &symbol) {
    return symbol.exported() && !isUnique(symbol) &&
           !symbol.name.starts_with(queries);
  });
}

Found uniqueSymbols(const ElfFile &file) {
  return symbolsThat(file, "has the unique symbol", isUnique);
}

Found hostSymbols(const ElfFile &file) {
  return symbolsThat(file, "needs of the host", [](const ElfSymbol &symbol) {
    return !symbol.defined() && symbol.name.starts_with("bp_");
  });
}

Found sharedCompilers(const ElfFile &file) {
  Found found;
  for (const std::string &library : file.needed)
    for (const char *foreign : {"libbackplane", "libMLIR", "libLLVM"})
      if (library.starts_with(foreign))
        found.push_back("needs " + library);
  return found;
}

Found textRelocations(const ElfFile &file) {
  if (hasTag(file, DT_TEXTREL) || (flagsOf(file) & DF_TEXTREL))
    return {"has relocations in its code"};
  return {};
}

Found executableStack(const ElfFile &file) {
  return ifSegment(file, "asks for an executable stack", [](const auto &one) {
    return one.p_type == PT_GNU_STACK && (one.p_flags & PF_X);
  });
}

Found writableCode(const ElfFile &file) {
  return ifSegment(file, "has a segment that is writable and executable",
                   [](const auto &one) {
                     return one.p_type == PT_LOAD &&
                            (one.p_flags & (PF_W | PF_X)) == (PF_W | PF_X);
                   });
}

Found staticTls(const ElfFile &file) {
  if (flagsOf(file) & DF_STATIC_TLS)
    return {"uses static thread-local storage"};
  return {};
}

Found runPaths(const ElfFile &file) {
  Found found;
  for (const std::string &list : file.runPaths)
    for (size_t at = 0; at <= list.size();) {
      size_t end = std::min(list.find(':', at), list.size());
      std::string one = list.substr(at, end - at);
      if (!one.starts_with("$ORIGIN") && !one.starts_with("${ORIGIN}"))
        found.push_back("has the run path '" + one + "'");
      at = end + 1;
    }
  return shortened(std::move(found));
}

Found constructors(const ElfFile &file) {
  Found found;
  for (const std::string &name : file.constructors)
    found.push_back("runs " + name + " when it is loaded");
  return shortened(std::move(found));
}

Found newerVersions(const ElfFile &file, const std::string &glibc,
                    const std::string &glibcxx) {
  Found found;
  addNewer(file, "GLIBC_", glibc, found);
  addNewer(file, "GLIBCXX_", glibcxx, found);
  return found;
}

} // namespace backplane::checks
