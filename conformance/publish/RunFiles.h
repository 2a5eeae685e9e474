// SPDX-License-Identifier: Apache-2.0
//
// RunFiles.h: which files the folder of a run may hold, and that those which
// are made from the records say what the records give.
#ifndef BACKPLANE_CONFORMANCE_PUBLISH_RUNFILES_H
#define BACKPLANE_CONFORMANCE_PUBLISH_RUNFILES_H

#include "conformance/report/Verdict.h"

#include <set>

namespace backplane::conformance {

/// What is known of the folder of a run besides its files.
struct RunFolder {
  std::string path;
  bool sealed = false; ///< it has manifest.json and manifest.sig
  const RunFacts &facts;
  const RunVerdict &verdict;
  const std::vector<Record> &records;   ///< with waivers applied
  const std::set<std::string> &failing; ///< ids of raw records that are bad
  const std::string &list;              ///< mustpass.txt as the suite has it
};

/// Refuses a file that no run writes, anything but files and folders, a folder
/// of failures of a case that does not fail, and a summary, report or list that
/// differs by a byte from what is computed.
Status checkRunFiles(const RunFolder &folder);

/// Refuses everything in a folder of shards but the folders of `shards` and, of
/// a sealed one, the seal.
Status checkShardFiles(const std::string &path, bool sealed,
                       const std::vector<std::string> &shards);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_PUBLISH_RUNFILES_H
