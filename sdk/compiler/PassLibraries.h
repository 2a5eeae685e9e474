// SPDX-License-Identifier: Apache-2.0
//
// PassLibraries.h: libraries of C++ passes of plug-ins.
#ifndef BACKPLANE_COMPILER_PASSLIBRARIES_H
#define BACKPLANE_COMPILER_PASSLIBRARIES_H

#include "hal/core/CompilerPlugin.h"

#include "backplane/cpp/Result.h"

namespace backplane {

/// Maps the library of a plug-in, unless it is, and registers its passes under
/// the names that the manifest declares. Refused, with the reason: a library of
/// another LLVM or another compiler, one with a copy of MLIR of its own, and
/// one whose passes are not those of the manifest. A refusal holds as long as
/// the process.
Status loadPasses(const CompilerPlugin &plugin);

} // namespace backplane

#endif // BACKPLANE_COMPILER_PASSLIBRARIES_H
