// SPDX-License-Identifier: Apache-2.0
//
// Emitter.h: "ptx": PTX text by LLVM, the kernels of an executable in one;
// "cubin": the same through ptxas (see README.md).
#ifndef BACKPLANE_EMIT_NVPTX_EMITTER_H
#define BACKPLANE_EMIT_NVPTX_EMITTER_H

#include "sdk/emit/common/Emitter.h"

namespace backplane {

Emitter ptxEmitter();
Emitter cubinEmitter();

} // namespace backplane

#endif // BACKPLANE_EMIT_NVPTX_EMITTER_H
