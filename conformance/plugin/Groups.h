// SPDX-License-Identifier: Apache-2.0
//
// Groups.h: the functions that add checks to the table, one per file of them.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_GROUPS_H
#define BACKPLANE_CONFORMANCE_PLUGIN_GROUPS_H

#include "Check.h"

namespace backplane::checks {

using Checks = std::vector<Check>;

void addLibraryFile(Checks &all);
void addQuery(Checks &all);
void addTables(Checks &all);
void addGraphPasses(Checks &all);
void addPartitions(Checks &all);
void addLifeCycle(Checks &all);
void addDevices(Checks &all);
void addProcess(Checks &all);
void addProcessAtWork(Checks &all);
void addMemory(Checks &all);
void addSharedMemory(Checks &all);
void addTransfers(Checks &all);
void addQueues(Checks &all);
void addTimelines(Checks &all);
void addRecordings(Checks &all);
void addLoads(Checks &all);
void addRuns(Checks &all);
void addScarcity(Checks &all);
void addEndurance(Checks &all);

/// In the order of the table.
inline constexpr void (*groups[])(Checks &) = {
    addLibraryFile,  addQuery,     addTables,   addGraphPasses,   addPartitions,
    addLifeCycle,    addDevices,   addProcess,  addProcessAtWork, addMemory,
    addSharedMemory, addTransfers, addQueues,   addTimelines,     addRecordings,
    addLoads,        addRuns,      addScarcity, addEndurance,
};

} // namespace backplane::checks

#endif // BACKPLANE_CONFORMANCE_PLUGIN_GROUPS_H
