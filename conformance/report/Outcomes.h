// SPDX-License-Identifier: Apache-2.0
//
// Outcomes.h: what the records of a run say in a few lines: how many cases were
// wrong, refused, crashed or hung, and why the target refuses.
#ifndef BACKPLANE_CONFORMANCE_REPORT_OUTCOMES_H
#define BACKPLANE_CONFORMANCE_REPORT_OUTCOMES_H

#include "conformance/report/Record.h"

namespace backplane::conformance {

/// Every bad case is counted once: "crashed" and "hung" are Crash and Timeout,
/// "lost or short" is DeviceLost and ResourceError, "wrong" all other bad ones.
struct Outcomes {
  uint64_t wrong = 0, refused = 0, assisted = 0, crashed = 0, hung = 0,
           lost = 0;
};

Outcomes outcomesOf(const std::vector<Record> &records);

/// "outcomes: 3 wrong, 12 refused, 0 crashed, 1 hung, 0 lost or short of
/// memory, 2 right with the help of another device", the help only where there
/// was some, then a line for each op with refused cases and the reason of its
/// first.
std::string outcomesText(const std::vector<Record> &records);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPORT_OUTCOMES_H
