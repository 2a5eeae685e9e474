// SPDX-License-Identifier: Apache-2.0
//
// Emitter.h: "llvm-elf": x86-64 and AArch64 by LLVM and lld.
#ifndef BACKPLANE_EMIT_LLVM_EMITTER_H
#define BACKPLANE_EMIT_LLVM_EMITTER_H

#include "sdk/emit/common/Emitter.h"

namespace backplane {

Emitter llvmElfEmitter();

} // namespace backplane

#endif // BACKPLANE_EMIT_LLVM_EMITTER_H
