// SPDX-License-Identifier: Apache-2.0
//
// Mustpass.h: the lists of cases that a release promises, as text. Units whose
// cases end alike share a block:
//
//   # comment
//   [special-n=54 uniform-n=1000]
//   L3/neg/f32/n
//   L3/neg/f64/n
//
// is four cases. Within a minor version a list only grows.
#ifndef BACKPLANE_CONFORMANCE_RUNNER_MUSTPASS_H
#define BACKPLANE_CONFORMANCE_RUNNER_MUSTPASS_H

#include "conformance/cases/Case.h"

namespace backplane::conformance {

/// SHA-256 of the ids, sorted, one a line with a line end.
std::string hashOfIds(std::vector<std::string> ids);
/// The ids as such a file, in a fixed order; each id has a '/'.
std::string mustpassText(const std::vector<std::string> &ids);
/// The ids of a file, sorted; data loss names the line that is wrong. Takes any
/// text; returns at most a million ids.
Result<std::vector<std::string>> parseMustpass(std::string_view text);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_RUNNER_MUSTPASS_H
