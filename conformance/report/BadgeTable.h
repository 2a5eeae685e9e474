// SPDX-License-Identifier: Apache-2.0
//
// BadgeTable.h: the requirements of the badges, each met by a run or not.
#ifndef BACKPLANE_CONFORMANCE_REPORT_BADGETABLE_H
#define BACKPLANE_CONFORMANCE_REPORT_BADGETABLE_H

#include "conformance/report/Verdict.h"

namespace backplane::conformance {

/// Fills in the table of a verdict whose counts, problems and waivers are
/// known.
void fillBadgeTable(const RunFacts &facts, const std::vector<Record> &records,
                    RunVerdict &verdict);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPORT_BADGETABLE_H
