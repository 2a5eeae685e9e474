// SPDX-License-Identifier: Apache-2.0
//
// SuiteVersion.h: the version of the suite: its cases, limits and rules. It is
// not that of the product: a product release with the same suite gives results
// that compare.
#ifndef BACKPLANE_CONFORMANCE_REPORT_SUITEVERSION_H
#define BACKPLANE_CONFORMANCE_REPORT_SUITEVERSION_H

#include <string_view>

namespace backplane::conformance {

inline constexpr std::string_view suiteVersion = "0.2.0";
/// Mustpass lists hold for a minor version: folder of conformance/mustpass.
inline constexpr std::string_view suiteMinor =
    suiteVersion.substr(0, suiteVersion.rfind('.'));

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPORT_SUITEVERSION_H
