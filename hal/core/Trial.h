// SPDX-License-Identifier: Apache-2.0
//
// Trial.h: a plug-in's first contact, in a process that may crash, exit or hang
// in place of this one. What came of it is kept by what the files hold.
#ifndef BACKPLANE_CORE_TRIAL_H
#define BACKPLANE_CORE_TRIAL_H

#include "backplane/cpp/Result.h"
#include "hal/core/LoaderOptions.h"
#include "hal/core/Manifest.h"

namespace backplane {

/// Has a bp-worker load the plug-in and list its devices and targets. Fails
/// when that process ended, or hung for longer than 20 seconds, and says in
/// which function; the outcome is then the same until a file of the plug-in or
/// bp-worker changes, or the file that the message names is removed. What the
/// plug-in refuses itself is no failure of the trial.
///
/// There is no trial of the plug-ins in the system's folder, without a folder
/// of the compile cache to keep its outcome in, or without a bp-worker.
Status tryPlugin(const Manifest &manifest, const LoaderOptions &options);

/// "signal 11 (Segmentation fault)" or "exit code 3", of a status of waitpid.
std::string howItEnded(int status);

/// The line that the process on trial writes in the end; before each call of
/// the plug-in it writes the name of the function.
inline constexpr const char *trialDone = "done";

} // namespace backplane

#endif // BACKPLANE_CORE_TRIAL_H
