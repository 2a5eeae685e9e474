// SPDX-License-Identifier: Apache-2.0
//
// Report.h: the records of node tests as a page for people.
#ifndef BACKPLANE_CONFORMANCE_ONNXNODES_REPORT_H
#define BACKPLANE_CONFORMANCE_ONNXNODES_REPORT_H

#include "conformance/report/Record.h"

namespace backplane::conformance {

/// Reads records.jsonl in a folder and writes report.html and junit.xml beside
/// it: coverage by op, op by dtype, error histograms, what failed, and refusals
/// with their reasons. `device` is its URI, or empty for the stored outputs.
Status writeNodeReport(const std::string &folder, const std::string &device);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_ONNXNODES_REPORT_H
