// SPDX-License-Identifier: Apache-2.0
//
// SignallingNans.h: selections by a comparison that stay what they are. Private
// to this folder.
#ifndef BACKPLANE_EMIT_LLVM_SIGNALLINGNANS_H
#define BACKPLANE_EMIT_LLVM_SIGNALLINGNANS_H

#include "llvm/IR/Module.h"

namespace backplane {

/// LLVM makes maxnum and minnum of `x > y ? x : y` and its like. Those of
/// AArch64 give a NaN where x is a signalling one, and not y. Of selections
/// whose x may be one, the comparison is frozen, which hides it from LLVM.
void keepSelections(llvm::Module &module);

} // namespace backplane

#endif // BACKPLANE_EMIT_LLVM_SIGNALLINGNANS_H
