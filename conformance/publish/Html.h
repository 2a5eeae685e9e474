// SPDX-License-Identifier: Apache-2.0
//
// Html.h: the report of a run as one self-contained page: verdict and table of
// badges, heat map of op and dtype, error histograms, worst cases with the line
// that repeats them, declared and probed numerics, waivers, environment. No
// scripts, nothing loaded.
#ifndef BACKPLANE_CONFORMANCE_PUBLISH_HTML_H
#define BACKPLANE_CONFORMANCE_PUBLISH_HTML_H

#include "conformance/report/Verdict.h"

namespace backplane::conformance {

/// The whole page. Text from records and facts is escaped. `records` have the
/// waivers applied.
std::string reportHtml(const RunFacts &facts, const RunVerdict &verdict,
                       const std::vector<Record> &records);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_PUBLISH_HTML_H
