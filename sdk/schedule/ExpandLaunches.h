// SPDX-License-Identifier: Apache-2.0
//
// ExpandLaunches.h: from dispatches to the launches of their kernels.
#ifndef BACKPLANE_SCHEDULE_EXPANDLAUNCHES_H
#define BACKPLANE_SCHEDULE_EXPANDLAUNCHES_H

#include "sdk/schedule/Placement.h"
#include "sdk/schedule/Schedule.h"

namespace backplane {

/// What Placement needs to know of the commands of both programs.
struct ScheduleNotes {
  std::vector<CommandNotes> program, init;
};

/// Puts launches in the place of commands, and those that run once into the
/// init program. Scratch becomes a transient of its own, what stays a constant.
/// Weights that no command uses any more leave the program.
ScheduleNotes expandLaunches(Schedule &schedule);

} // namespace backplane

#endif // BACKPLANE_SCHEDULE_EXPANDLAUNCHES_H
