// SPDX-License-Identifier: Apache-2.0
//
// CheckedPass.h: a C++ pass of a plug-in, run so that what it breaks is told
// with its name.
#ifndef BACKPLANE_COMPILER_CHECKEDPASS_H
#define BACKPLANE_COMPILER_CHECKEDPASS_H

#include "backplane/mlir/Passes.h"

#include "backplane/cpp/Result.h"

namespace backplane {

/// Registers a pass of `plugin` for pipelines. After it has run, the IR holds
/// no op of a dialect that was not there before and that the pass does not
/// declare, no op uses a value that is not in the IR, no op outside of it uses
/// one that is, and the IR is valid. A crash in it is a failure too; no pass of
/// a plug-in runs in this process after it.
void registerCheckedPass(std::string plugin, PassFactory factory);

/// Runs code of a library of passes, called `what`; a signal that ends it
/// becomes a failure, which every later call repeats with that name.
Status catchCrash(const std::string &what, const std::function<void()> &body);

} // namespace backplane

#endif // BACKPLANE_COMPILER_CHECKEDPASS_H
