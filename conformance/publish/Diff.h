// SPDX-License-Identifier: Apache-2.0
//
// Diff.h: what changed between two runs.
#ifndef BACKPLANE_CONFORMANCE_PUBLISH_DIFF_H
#define BACKPLANE_CONFORMANCE_PUBLISH_DIFF_H

#include "conformance/report/Record.h"

namespace backplane::conformance {

/// How one case changed; `before` and `after` are null where it is missing.
struct Change {
  const Record *before = nullptr, *after = nullptr;
};

/// Points into the records that were compared.
struct RunDiff {
  std::vector<Change> failed;  ///< good before, bad after
  std::vector<Change> fixed;   ///< bad before, good after
  std::vector<Change> dropped; ///< ran before, NotSupported after
  std::vector<Change> missing; ///< no case of this id after
  std::vector<Change> added;   ///< no case of this id before
  std::vector<Change> looser;  ///< uses over 0.1 more of its limit
  std::vector<Change> tighter; ///< uses over 0.1 less
  std::vector<Change> changed; ///< other results for the same inputs

  /// Whether the later run is worse: new failures, dropped or missing cases.
  bool worse() const {
    return !failed.empty() || !dropped.empty() || !missing.empty();
  }
};

RunDiff compareRuns(const std::vector<Record> &before,
                    const std::vector<Record> &after);

/// The diff as text, at most `most` cases of each kind.
std::string textOf(const RunDiff &diff, size_t most);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_PUBLISH_DIFF_H
