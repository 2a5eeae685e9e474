// SPDX-License-Identifier: Apache-2.0
//
// Verdict.h: from records, declaration and waivers to the verdict of a run and
// the badge that it earns. The one place that decides; `bp conformance` prints
// its table with every verdict and `bp conformance verify` computes it again.
#ifndef BACKPLANE_CONFORMANCE_REPORT_VERDICT_H
#define BACKPLANE_CONFORMANCE_REPORT_VERDICT_H

#include "conformance/report/Limits.h"
#include "conformance/report/Waivers.h"

namespace backplane::conformance {

/// Each one asks for all that the ones before it ask for.
enum class Badge { None, Core, Full, Strict };

std::string_view name(Badge badge);

/// One line of the table of badges.
struct Requirement {
  Badge badge = Badge::Core; ///< the least one that asks for it
  std::string text;          ///< "computes with f32, i32, i64 and bool"
  bool met = false;
  std::string detail; ///< what was found; of an unmet one what is missing
};

struct RunVerdict {
  Badge badge = Badge::None;
  /// What of the declaration is relaxed; returns a badge the suffix -R.
  std::vector<std::string> relaxed;
  /// No bad case, no waiver error, nothing missing, and a badge unless only a
  /// part was asked for.
  bool passed = false;
  bool partial = false; ///< filtered, or one of several shards
  std::map<int, std::map<CaseStatus, uint64_t>> counts; ///< by layer
  uint64_t bad = 0;
  uint64_t refused = 0; ///< by the target's compiler, neither good nor bad
  /// The faults that ended the run before its last case; empty: none did.
  std::string ended;
  std::vector<Requirement> table;
  /// What denies a pass besides bad cases: waivers, missing or doubled records.
  std::vector<std::string> problems;
  Waived waivers;
  std::vector<std::string> marks;         ///< of the device, see Limits.h
  std::map<std::string, OpLimits> tested; ///< how far, by op

  /// "Full-R badge (emulated)", "no badge: 3 bad cases".
  std::string title() const;
  /// What the next badge still asks for; empty for Strict.
  std::vector<std::string> missing() const;
};

/// Judges a run. `records` come as the runner wrote them and leave with waivers
/// applied. `planned` are the ids of all cases that the run was to have, in any
/// order. Waivers hold as of the day of `facts`.
RunVerdict judgeRun(const RunFacts &facts, std::vector<Record> &records,
                    const std::vector<std::string> &planned,
                    const std::vector<Waiver> &waivers);

/// How far the ops were tested, by op where there is a badge, and what the
/// method cannot show.
std::string limitsText(const RunVerdict &verdict);
/// The table of badges as text, one requirement a line, "+" met and "-" not.
std::string tableText(const RunVerdict &verdict);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPORT_VERDICT_H
