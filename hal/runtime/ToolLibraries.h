// SPDX-License-Identifier: Apache-2.0
//
// ToolLibraries.h: the importer and the compiler, which lie beside this library
// and are mapped only when a model must be compiled.
#ifndef BACKPLANE_RUNTIME_TOOLLIBRARIES_H
#define BACKPLANE_RUNTIME_TOOLLIBRARIES_H

#include "sdk/compiler/Compile.h"

namespace backplane::rt {

/// Loaded once per process and never unloaded: models keep code of theirs.
class ToolLibraries {
public:
  /// Paths where the libraries are expected: in the folder of the code that
  /// asks, or in ../lib of it for a program.
  static std::string importPath();
  static std::string compilerPath();

  /// Failures name the path and what to do.
  static Result<Model> import(const std::string &path);
  static Status compile(CompileRequest &request,
                        const CompileServices &services);
  /// Exact version of LLVM, and the files of it that are now mapped: what the
  /// output of the compiler depends on beside itself.
  static Result<std::vector<std::string>> toolchain();
};

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_TOOLLIBRARIES_H
