// SPDX-License-Identifier: Apache-2.0
//
// Verify.h: believing nothing but raw records. Reads the folder of a run, or
// the folders of all shards of one, checks every record against what the suite
// itself would have planned, and computes the verdict again.
#ifndef BACKPLANE_CONFORMANCE_PUBLISH_VERIFY_H
#define BACKPLANE_CONFORMANCE_PUBLISH_VERIFY_H

#include "conformance/publish/Seal.h"
#include "conformance/report/Verdict.h"

#include <functional>

namespace backplane::conformance {

/// What the suite plans for a run with these facts.
struct PlannedRun {
  std::vector<Record> records; ///< as they are before the cases run
  uint64_t cases = 0;          ///< as in RunFacts
  std::string mustpass;        ///< likewise
  std::string list;            ///< of mustpass.txt
};
using Planner = std::function<Result<PlannedRun>(const RunFacts &)>;

/// A run as its folder has it.
struct StoredRun {
  RunFacts facts;
  std::vector<Record> records; ///< raw
  std::vector<Waiver> waivers;
  std::string waiversText; ///< of waivers.json; empty: there is none
};

/// Reads run.json, records.jsonl and waivers.json; refuses damage, raw records
/// with a status that only a verdict gives, and waivers that are not those of
/// the run.
Result<StoredRun> readRun(const std::string &folder);

/// The run in `folder`, or the one that the shards in its folders make
/// together. Shards that are not of one run, are missing or are there twice
/// are refused.
Result<StoredRun> readRuns(const std::string &folder);
/// The same from the folders of the shards.
Result<StoredRun> mergeRuns(const std::vector<std::string> &folders);

/// Checks records against the plan: none missing, doubled or unknown, nothing
/// changed that was known before, NotSupported where and only where the
/// declaration says so, no Pass beyond its limit. Returns the verdict and
/// applies waivers to the records of `run`.
Result<RunVerdict> judgeAgain(StoredRun &run, const Planner &planner);

struct VerifyRules {
  bool sealed = true; ///< there must be a seal, by a key of `keys`
  KeyRules keys;
  /// The run must have taken this challenge.
  std::optional<std::string> challenge;
  std::optional<Date> today; ///< a run of a later day is refused
};

/// All of it for a folder: seal, records of each shard and of all together, and
/// that there is no file besides, and none that says what is not computed.
struct Verified {
  Seal seal; ///< empty without one
  StoredRun run;
  RunVerdict verdict;
};
Result<Verified> verifyFolder(const std::string &folder,
                              const VerifyRules &rules, const Planner &planner);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_PUBLISH_VERIFY_H
