// SPDX-License-Identifier: Apache-2.0
//
// CompilerPlugin.h: what the registry knows of a compiler plug-in, for those
// that call it.
#ifndef BACKPLANE_CORE_COMPILERPLUGIN_H
#define BACKPLANE_CORE_COMPILERPLUGIN_H

#include "backplane/compiler.h"
#include "hal/core/PassLibrary.h"

#include <string>

namespace backplane {

/// A compiler plug-in, as loaded: a host-owned table, stubs in empty slots but
/// `compile` and `partition`, which are null: nothing is written for a plug-in
/// that reads none of it.
struct CompilerPlugin {
  std::string name;
  std::string version;
  std::string hash; ///< of the library files, part of cache keys
  const bp_compiler_table_t *table = nullptr;
  void *self = nullptr;
  PassLibrary passes = {}; ///< of C++, if there is one
};

} // namespace backplane

#endif // BACKPLANE_CORE_COMPILERPLUGIN_H
