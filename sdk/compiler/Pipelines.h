// SPDX-License-Identifier: Apache-2.0
//
// Pipelines.h: which of the pipelines that a plug-in has for a stage is taken.
#ifndef BACKPLANE_COMPILER_PIPELINES_H
#define BACKPLANE_COMPILER_PIPELINES_H

#include "sdk/compiler/Target.h"

namespace backplane {

/// Asks the plug-in of a target for its pipelines. Of those for one stage, the
/// first whose passes and options this host has becomes its pipeline, and the
/// target's remarks tell which, and why no earlier one. A stage without one is
/// a failure that names the reason for each.
Status readStages(Target &target);

} // namespace backplane

#endif // BACKPLANE_COMPILER_PIPELINES_H
