// SPDX-License-Identifier: Apache-2.0
//
// SaveFailures.h: what a run leaves of graphs that failed.
#ifndef BACKPLANE_CONFORMANCE_REPRO_SAVEFAILURES_H
#define BACKPLANE_CONFORMANCE_REPRO_SAVEFAILURES_H

#include "Repro.h"

namespace backplane::conformance {

/// Graphs of one run that are made small; more of them say little more.
inline constexpr size_t savedFailures = 8;

/// Makes the first failing case of each unit of layers 4 to 6 small, for some
/// minutes in all, and saves it below `folder`/failures with the line that
/// repeats it. Returns how many. Fails when a file cannot be written or no
/// worker can be started.
Result<size_t> saveFailures(const std::vector<Unit> &units,
                            const std::vector<Record> &records,
                            const JobOptions &job, const std::string &folder,
                            const std::string &device);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPRO_SAVEFAILURES_H
