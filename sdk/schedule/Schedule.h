// SPDX-License-Identifier: Apache-2.0
//
// Schedule.h: from `main` as a list of calls to a program: slots and commands,
// then, with what the kernels know, barriers and the places of transients.
#ifndef BACKPLANE_SCHEDULE_SCHEDULE_H
#define BACKPLANE_SCHEDULE_SCHEDULE_H

#include "sdk/dialect/Graph.h"
#include "sdk/program/Program.h"
#include "sdk/schedule/Launch.h"

namespace backplane {

/// What runs in place of the command of a dispatch.
struct KernelUse {
  uint32_t executable = 0, entry = 0; ///< the entry of the first launch
  /// Inputs that may have the memory of the one result.
  std::vector<uint32_t> inPlace;
  std::vector<Launch> launches;
  std::optional<Dim> scratch; ///< bytes that the launches share
  /// What runs once per session, in the init program.
  std::vector<Launch> initLaunches;
  uint64_t persistentBytes = 0; ///< of the constant that those write
};

/// A command that runs a dispatch, to be completed with what its kernel says.
struct ScheduledDispatch {
  bool init;      ///< in the init program, else in the program
  size_t command; ///< index of the command before finishSchedule
  size_t results; ///< how many of its last bindings it writes
  std::string function;
  KernelUse kernel; ///< once it is known
  /// A native kernel; where it is absent the other one runs.
  std::optional<KernelUse> native;
};

struct Schedule {
  Program program;
  Program init;
  std::vector<ScheduledDispatch> dispatches;
  uint32_t constants = 0; ///< the number after those of its constants
  /// Reasons: copies, what moved to the init program, reuse of memory.
  std::vector<std::string> report;
};

/// Schedules `main` of a module after bp-form-dispatches: slots, and commands
/// in their order. What a device needs from another one is copied right behind
/// what makes it. `weights` are the ids that slots number; those that the
/// program uses are appended. What depends on weights alone runs in the init
/// program; its constants are numbered from `firstConstant` on.
Result<Schedule> schedule(mlir::ModuleOp module,
                          std::vector<std::string> &weights,
                          uint32_t firstConstant = 0);

/// Puts the launches of the kernels in the place of the commands and into the
/// init program, gives them scratch and constants, and adds barriers and the
/// places of transients. `module` has the ranges of the symbols.
Status finishSchedule(mlir::ModuleOp module, Schedule &schedule);

/// Appends a finished init program to another one; their constants have
/// numbers of their own.
void appendInit(Program &init, Program more);

} // namespace backplane

#endif // BACKPLANE_SCHEDULE_SCHEDULE_H
