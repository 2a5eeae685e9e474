// SPDX-License-Identifier: Apache-2.0
//
// Publish.h: the files that are made from a verdict: summary.json for programs,
// junit.xml for build servers, report.html for people.
#ifndef BACKPLANE_CONFORMANCE_PUBLISH_PUBLISH_H
#define BACKPLANE_CONFORMANCE_PUBLISH_PUBLISH_H

#include "conformance/report/Verdict.h"

namespace backplane::conformance {

/// Indented JSON: verdict, badge, counts, registered kernels, table of badges,
/// waivers, hashes. `recordsHash` is the SHA-256 of records.jsonl.
std::string summaryJson(const RunFacts &facts, const RunVerdict &verdict,
                        const std::vector<Record> &records,
                        const std::string &recordsHash);
/// One suite per layer and op, one case per record.
std::string junitXml(const RunFacts &facts, const std::vector<Record> &records);
/// The files of writeReports: name and contents.
std::vector<std::pair<std::string, std::string>>
reportFiles(const RunFacts &facts, const RunVerdict &verdict,
            const std::vector<Record> &records, const std::string &recordsHash);
/// Writes all three files to `folder`, each in one step. `records` have the
/// waivers applied.
Status writeReports(const std::string &folder, const RunFacts &facts,
                    const RunVerdict &verdict,
                    const std::vector<Record> &records);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_PUBLISH_PUBLISH_H
