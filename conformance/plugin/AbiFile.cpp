// SPDX-License-Identifier: Apache-2.0
//
// AbiFile.cpp: the library as a file: what it exports and needs.
#include "FileRules.h"
#include "Groups.h"

#include <sys/stat.h>

namespace backplane::checks {
namespace {

/// Complains of what the rules find in the library's file.
template <Found (*...rules)(const ElfFile &)> void keeps(Trial &trial) {
  Result<ElfFile> file = ElfFile::read(trial.tested().library);
  if (!file)
    return trial.fail(file.message());
  for (auto *rule : {rules...})
    for (const std::string &found : rule(*file))
      trial.fail("the library " + found);
}

void machine(Trial &trial) {
  Result<ElfFile> file = ElfFile::read(trial.tested().library);
  if (!file)
    return trial.fail(file.message());
#if defined(__x86_64__)
  constexpr unsigned own = EM_X86_64;
#else
  constexpr unsigned own = EM_AARCH64;
#endif
  trial.expect(file->header.e_type == ET_DYN && file->header.e_machine == own,
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
  group.add("exports-only-the-entry", Depth::Smoke,
            keeps<lacksQuery, foreignExports>);
  group.add("needs-no-symbol-of-the-host", Depth::Smoke, keeps<hostSymbols>);
  group.add("no-unique-symbols", keeps<uniqueSymbols>);
  group.add("needs-no-shared-compiler", keeps<sharedCompilers>);
  group.add("no-text-relocations", keeps<textRelocations>);
  group.add("stack-not-executable", keeps<executableStack>);
  group.add("no-writable-code", keeps<writableCode>);
  group.add("no-static-tls", keeps<staticTls>);
  group.add("machine", Depth::Smoke, machine);
  group.add("permissions", permissions);
}

} // namespace backplane::checks
