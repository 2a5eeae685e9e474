// SPDX-License-Identifier: Apache-2.0
//
// EmitterTools.h: programs that emitters start and that are no part of the
// product. Free of MLIR: they are part of cache keys, which are asked for
// before the compiler is mapped.
#ifndef BACKPLANE_EMIT_EMITTERTOOLS_H
#define BACKPLANE_EMIT_EMITTERTOOLS_H

#include "sdk/support/FileTrust.h"

namespace backplane {

struct EmitterTool {
  std::string_view emitter; ///< its name in the table of Emit.cpp
  std::string_view name;    ///< for people and in keys
  /// The file to start, which `trust` believes. A failure says what to do.
  Result<std::string> (*find)(const FileTrust &trust);
};

/// The program that an emitter needs; null: none.
const EmitterTool *findEmitterTool(std::string_view emitter);

} // namespace backplane

#endif // BACKPLANE_EMIT_EMITTERTOOLS_H
