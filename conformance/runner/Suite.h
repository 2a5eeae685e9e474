// SPDX-License-Identifier: Apache-2.0
//
// Suite.h: runs the chosen cases on one device with several jobs side by side,
// and keeps what each gave in a record log.
#ifndef BACKPLANE_CONFORMANCE_RUNNER_SUITE_H
#define BACKPLANE_CONFORMANCE_RUNNER_SUITE_H

#include "Job.h"
#include "conformance/report/Facts.h"
#include "conformance/suite/Generate.h"
#include "conformance/suite/PluginUnits.h"

namespace backplane::conformance {

/// Makes units of some layers, as generateUnits does.
using Generator =
    std::function<void(const Selection &, const std::function<void(Unit)> &)>;

struct SuiteOptions {
  Selection selection;
  /// Only its units, those of real models and checks of the driver; a name of
  /// Profiles.h, or "whole".
  std::string profile = "whole";
  /// Other devices run what the first one refuses: without checks of its driver
  /// and without applications.
  bool helped = false;
  /// One after another.
  std::vector<Generator> generators = {generateChecks, generateUnits};
  /// Units beside those of the release, in no mustpass list: real models.
  std::vector<Unit> models;
  /// Likewise: registered kernels.
  std::vector<Unit> kernels;
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

/// What a run is to do.
struct Plan {
  std::vector<Unit> units; ///< with the chosen cases, in their order
  /// All cases of the depth, chosen or not, without those of real models
  /// and of registered kernels.
  std::vector<std::string> mustpass;

  /// The ids of the chosen cases, in their order.
  std::vector<std::string> ids() const;
  /// A record for each chosen case, as it is before the case runs; NotSupported
  /// where a target with these dtypes is not asked.
  std::vector<Record> records(uint64_t computeDTypes,
                              uint64_t storageDTypes) const;
};

/// Chooses cases; the members of `options` about running are not looked at.
Result<Plan> planSuite(const SuiteOptions &options);

/// Runs all cases that have no record yet, unless faults of one cause end the
/// run (Faults.h). Returns the records that there are, in the order of the
/// cases. `facts` are written to run.json; a folder of another run is not
/// resumed, and of the same run the date stays what it was.
Result<std::vector<Record>> runSuite(const SuiteOptions &options,
                                     const Plan &plan, RunFacts &facts);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_RUNNER_SUITE_H
