// SPDX-License-Identifier: Apache-2.0
//
// HtmlParts.h: the parts of the report's page (Html.h), each as its HTML.
#ifndef BACKPLANE_CONFORMANCE_PUBLISH_HTMLPARTS_H
#define BACKPLANE_CONFORMANCE_PUBLISH_HTMLPARTS_H

#include "conformance/report/Verdict.h"

namespace backplane::conformance::html {

/// The style sheet; light and dark.
extern const char *const style;

/// Text with the characters of markup replaced.
std::string escape(std::string_view text);
/// Three significant digits.
std::string number(double value);
/// "12,345".
std::string count(uint64_t value);
/// A heading that the navigation of the page leads to, and a note below it.
std::string heading(const std::string &anchor, const std::string &title,
                    const std::string &note);

/// Rows of a table, the first one its heading.
using TextTable = std::vector<std::vector<std::string>>;
/// A table that scrolls when it is wide; escapes the texts.
std::string table(const TextTable &rows);

/// Ops by dtype, and what layers 4 to 6 call an op.
std::string heatMaps(const std::vector<Record> &records);
/// Groups of layers 0, 1, 2 and 7.
std::string checkGroups(const std::vector<Record> &records);
/// Elements by error in units in the last place.
std::string histograms(const std::vector<Record> &records);

} // namespace backplane::conformance::html

#endif // BACKPLANE_CONFORMANCE_PUBLISH_HTMLPARTS_H
