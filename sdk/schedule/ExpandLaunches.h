// SPDX-License-Identifier: Apache-2.0
//
// ExpandLaunches.h: from dispatches to the launches of their kernels.
#ifndef BACKPLANE_SCHEDULE_EXPANDLAUNCHES_H
#define BACKPLANE_SCHEDULE_EXPANDLAUNCHES_H

#include "sdk/schedule/Placement.h"
#include "sdk/schedule/Schedule.h"

namespace backplane {

/// Puts launches in the place of commands; `dispatches` has, for each command,
/// its dispatch or null. Scratch becomes a transient of its own. Returns what
/// Placement needs to know of each command.
std::vector<CommandNotes>
expandLaunches(Program &program,
               const std::vector<const ScheduledDispatch *> &dispatches);

} // namespace backplane

#endif // BACKPLANE_SCHEDULE_EXPANDLAUNCHES_H
