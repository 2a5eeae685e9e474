// SPDX-License-Identifier: Apache-2.0
//
// Suite.h: runs the chosen cases on one device with several jobs side by side,
// and keeps what each gave in a record log.
#ifndef BACKPLANE_CONFORMANCE_RUNNER_SUITE_H
#define BACKPLANE_CONFORMANCE_RUNNER_SUITE_H

#include "Job.h"

namespace backplane::conformance {

struct SuiteOptions {
  Selection selection;
  /// Globs over case ids; no filter: all. One that matches nothing is an error.
  std::vector<std::string> filters, excludes;
  unsigned shard = 1, shards = 1; ///< units shard, shard + shards, …, from 1
  unsigned jobs = 1;
  JobOptions job;
  std::string folder; ///< gets records.jsonl and run.json
  bool resume = false;
  /// Called after each unit, from any thread, one call at a time.
  std::function<void(size_t done, size_t total, size_t bad)> progress;
};

/// The units with the cases that the options choose, in their order.
Result<std::vector<Unit>> chooseUnits(const SuiteOptions &options);

/// Runs all cases that have no record yet. Gives the records in the order of
/// the cases. `description` stands for everything that decides the records
/// (device, depth, seed, filters); a folder of another run is not resumed.
Result<std::vector<Record>> runSuite(const SuiteOptions &options,
                                     const std::vector<Unit> &units,
                                     const std::string &description);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_RUNNER_SUITE_H
