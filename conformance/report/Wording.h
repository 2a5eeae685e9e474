// SPDX-License-Identifier: Apache-2.0
//
// Wording.h: lists and numbers in the text of a verdict.
#ifndef BACKPLANE_CONFORMANCE_REPORT_WORDING_H
#define BACKPLANE_CONFORMANCE_REPORT_WORDING_H

#include <cstdint>
#include <string>
#include <vector>

namespace backplane::conformance {

/// "a, b and 3 more".
std::string join(const std::vector<std::string> &texts, size_t max = 8);
/// "1 case", "2 cases".
std::string plural(uint64_t count, const std::string &noun);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPORT_WORDING_H
