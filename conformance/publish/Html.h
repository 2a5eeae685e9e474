// SPDX-License-Identifier: Apache-2.0
//
// Html.h: the report of a run as one self-contained page: verdict, heat map of
// op and dtype, error histograms, worst cases with the line that repeats them,
// declared numerics, waivers, environment. No scripts, nothing loaded.
#ifndef BACKPLANE_CONFORMANCE_PUBLISH_HTML_H
#define BACKPLANE_CONFORMANCE_PUBLISH_HTML_H

#include "conformance/report/Record.h"

namespace backplane::conformance {

/// Rows of a table, the first one its heading.
using TextTable = std::vector<std::vector<std::string>>;

/// What the page says beside the records.
struct ReportFacts {
  std::string device;  ///< URI
  std::string verdict; ///< "Full badge", "no badge"
  bool passed = false;
  std::vector<std::string> reasons; ///< why there is no badge or no higher one
  TextTable numerics;               ///< as the target declares them
  TextTable waivers;
  TextTable environment; ///< name and value, no heading
};

/// The whole page. Text from records and facts is escaped.
std::string reportHtml(const ReportFacts &facts,
                       const std::vector<Record> &records);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_PUBLISH_HTML_H
