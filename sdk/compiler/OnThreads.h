// SPDX-License-Identifier: Apache-2.0
//
// OnThreads.h: one function on several threads at once.
#ifndef BACKPLANE_COMPILER_ONTHREADS_H
#define BACKPLANE_COMPILER_ONTHREADS_H

#include "llvm/ADT/STLFunctionalExtras.h"

namespace backplane {

/// Calls `body`, which does not throw, on this thread and on up to
/// `threads` - 1 others, and returns when all calls have. Where the system has
/// no further thread fewer do the work. The others take no signals but those of
/// their own faults and start with the floating-point environment of this one.
void runOnThreads(unsigned threads, llvm::function_ref<void()> body);

} // namespace backplane

#endif // BACKPLANE_COMPILER_ONTHREADS_H
