// SPDX-License-Identifier: Apache-2.0
//
// ToolLibraries.h: the importer and the compiler, which lie beside this library
// and are mapped only when a model must be compiled.
#ifndef BACKPLANE_SERVICE_TOOLLIBRARIES_H
#define BACKPLANE_SERVICE_TOOLLIBRARIES_H

#include "sdk/compiler/Compile.h"
#include "sdk/support/FileTrust.h"

namespace backplane::rt {

/// Loaded once per process, when they are to be trusted, and never unloaded:
/// models keep code of theirs.
class ToolLibraries {
public:
  explicit ToolLibraries(const FileTrust &trust) : trust_(trust) {}

  /// Paths where the libraries are expected: in the folder of the code that
  /// asks, or in ../lib of it for a program.
  static std::string importPath();
  static std::string compilerPath();
  /// The program that compiles in a process of its own, in ../bin of them.
  static std::string workerPath();

  /// Failures name the path and what to do.
  Result<Model> import(const std::string &path) const;
  Status compile(CompileRequest &request,
                 const CompileServices &services) const;
  /// Exact version of LLVM, and the files of it that are now mapped: what the
  /// output of the compiler depends on beside itself.
  Result<std::vector<std::string>> toolchain() const;

private:
  const FileTrust &trust_;
};

} // namespace backplane::rt

#endif // BACKPLANE_SERVICE_TOOLLIBRARIES_H
