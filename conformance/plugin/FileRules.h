// SPDX-License-Identifier: Apache-2.0
//
// FileRules.h: the rules of a plug-in's library as a file. Each function gives
// what it found that breaks its rule, as ends of "the library …"; nothing when
// the rule is kept. The suite and `bp lint` ask the same ones.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_FILERULES_H
#define BACKPLANE_CONFORMANCE_PLUGIN_FILERULES_H

#include "ElfFile.h"

namespace backplane::checks {

using Found = std::vector<std::string>;

Found lacksQuery(const ElfFile &file);
/// Unique symbols left out, which are a rule of their own.
Found foreignExports(const ElfFile &file);
Found uniqueSymbols(const ElfFile &file);
Found hostSymbols(const ElfFile &file);
/// libbackplane, libMLIR and libLLVM.
Found sharedCompilers(const ElfFile &file);
Found textRelocations(const ElfFile &file);
Found executableStack(const ElfFile &file);
Found writableCode(const ElfFile &file);
Found staticTls(const ElfFile &file);
/// Folders that are neither below the library's own nor absolute, or are
/// absolute and so not there on another machine.
Found runPaths(const ElfFile &file);
Found constructors(const ElfFile &file);
/// Versions of the C and C++ libraries above "2.36" and "3.4.30".
Found newerVersions(const ElfFile &file, const std::string &glibc,
                    const std::string &glibcxx);

} // namespace backplane::checks

#endif // BACKPLANE_CONFORMANCE_PLUGIN_FILERULES_H
