// SPDX-License-Identifier: Apache-2.0
//
// FatalErrors.h: what LLVM does not go on after ends a compilation, not the
// application.
#ifndef BACKPLANE_COMPILER_FATALERRORS_H
#define BACKPLANE_COMPILER_FATALERRORS_H

#include "backplane/cpp/Result.h"

#include <functional>

namespace backplane {

/// Runs `body`. A fatal error of LLVM in it, on this thread, and memory that
/// is short become its status; what `body` held then is not given back. While
/// it runs, LLVM's error handlers of this process are ours.
Status catchFatalErrors(const std::function<Status()> &body);

/// Runs `body`. A signal that would end the process (SIGSEGV, SIGABRT and the
/// like) ends `body` alone and is told as "ended with signal 11 (…)". What
/// `body` was at is then in no known state: the process should do no more than
/// say so.
Status catchSignals(const std::function<void()> &body);

} // namespace backplane

#endif // BACKPLANE_COMPILER_FATALERRORS_H
