// SPDX-License-Identifier: Apache-2.0
//
// Emitter.h: "spirv": SPIR-V modules, several packed into one blob (see
// README.md).
#ifndef BACKPLANE_EMIT_SPIRV_EMITTER_H
#define BACKPLANE_EMIT_SPIRV_EMITTER_H

#include "sdk/emit/common/Emitter.h"

namespace backplane {

Emitter spirvEmitter();

} // namespace backplane

#endif // BACKPLANE_EMIT_SPIRV_EMITTER_H
