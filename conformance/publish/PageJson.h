// SPDX-License-Identifier: Apache-2.0
//
// PageJson.h: templates of pages and what that of the report (report.mustache)
// is filled with. Numbers are text as a reader sees it; what is empty is left
// out by the template.
#ifndef BACKPLANE_CONFORMANCE_PUBLISH_PAGEJSON_H
#define BACKPLANE_CONFORMANCE_PUBLISH_PAGEJSON_H

#include "conformance/report/Verdict.h"

#include <nlohmann/json.hpp>

namespace backplane::conformance {

/// Three significant digits.
std::string number(double value);
/// "12,345".
std::string count(uint64_t value);

/// A template of mustache filled with values, whose text is escaped. It may use
/// {{>style}} (style.css) and {{>charts}} (charts.mustache: grids, checks and
/// histograms).
std::string render(const char *page, const nlohmann::json &values);

/// The whole page. `records` have the waivers applied.
nlohmann::json pageJson(const RunFacts &facts, const RunVerdict &verdict,
                        const std::vector<Record> &records);

/// Its charts. Grids of ops by dtype, and of what layers 4 to 6 call an op.
nlohmann::json gridsJson(const std::vector<Record> &records);
/// Groups of layers 0, 1, 2 and 7.
nlohmann::json checksJson(const std::vector<Record> &records);
/// Elements by error in units in the last place, for each dtype and op.
nlohmann::json histogramsJson(const std::vector<Record> &records);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_PUBLISH_PAGEJSON_H
