// SPDX-License-Identifier: Apache-2.0
//
// ProgramPlan.h: a program of an artifact for one tuple of symbol values, as
// recorded commands with the decisions of the host between them.
#ifndef BACKPLANE_RUNTIME_PROGRAMPLAN_H
#define BACKPLANE_RUNTIME_PROGRAMPLAN_H

#include "Resolve.h"

namespace backplane::rt {

struct ProgramPlan {
  uint64_t arenaBytes = 0;
  /// One more than there are controls: what runs before each, and behind the
  /// last one. Null: nothing does; never without controls.
  std::vector<std::shared_ptr<CommandBuffer>> parts;
  std::vector<ResolvedControl> controls;
};

/// Resolves and records.
Result<ProgramPlan> planProgram(Device &device, const fb::Program &program,
                                Evaluator &evaluator,
                                const ResolveContext &context);

/// A program of a region.
struct RegionPlan {
  std::vector<uint64_t> inputBytes, outputBytes;
  ProgramPlan program;
};

/// The regions of a call's shapes that have been entered, by number and the
/// values of the symbols that count iterations.
using RegionPlans = std::map<std::pair<uint32_t, std::vector<int64_t>>,
                             std::shared_ptr<const RegionPlan>>;

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_PROGRAMPLAN_H
