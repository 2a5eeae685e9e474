// SPDX-License-Identifier: Apache-2.0
//
// RunGroups.h: groups of checks of dispatches, which addRuns adds for each
// model. Inputs are whole numbers, so that results are the same bits in every
// order.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_RUNGROUPS_H
#define BACKPLANE_CONFORMANCE_PLUGIN_RUNGROUPS_H

#include "Groups.h"
#include "Models.h"

namespace backplane::checks {

/// Where the memory of a dispatch lies.
void addPlaces(Checks &all, const ModelName &model);
/// In which order, and beside what, the host runs its parts.
void addHosts(Checks &all, const ModelName &model);
/// What is there when it completes.
void addFences(Checks &all, const ModelName &model);
/// What bad data come to; of a model with an index.
void addErrors(Checks &all, const ModelName &model);

} // namespace backplane::checks

#endif // BACKPLANE_CONFORMANCE_PLUGIN_RUNGROUPS_H
