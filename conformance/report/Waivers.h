// SPDX-License-Identifier: Apache-2.0
//
// Waivers.h: known failures that a vendor explains in public, for a while. A
// waiver turns failures into Waived; what it may not do is as strict as a
// failure: expire unnoticed, match nothing, cover a case that passes, take more
// than one case in two hundred, or touch layers 0 to 2 or exact sums.
#ifndef BACKPLANE_CONFORMANCE_REPORT_WAIVERS_H
#define BACKPLANE_CONFORMANCE_REPORT_WAIVERS_H

#include "conformance/report/Facts.h"
#include "conformance/report/Record.h"

#include <chrono>

namespace backplane::conformance {

using Date = std::chrono::sys_days;

/// "2026-11-21", also as the beginning of a longer text.
std::optional<Date> parseDate(std::string_view text);
std::string textOf(Date date);

struct Waiver {
  std::string id;
  std::vector<std::string> cases;   ///< globs over case ids
  std::vector<std::string> devices; ///< globs over device URIs
  std::vector<std::string> suites;  ///< globs over suite versions
  std::string reason, url, owner;
  Date expires; ///< first day on which it no longer holds
};

/// The whole file; refuses what is not exactly as docs/reference says. Waivers
/// of a run that took place on `day` may last at most 180 days from then on.
Result<std::vector<Waiver>> parseWaivers(std::string_view text, Date day);

/// What one waiver did, for the table of the report.
struct WaiverUse {
  Waiver waiver;
  bool applies = false; ///< to this device and this suite
  bool expired = false;
  uint64_t waived = 0;
};

struct Waived {
  std::vector<WaiverUse> uses;
  std::vector<std::string> errors; ///< each of them denies a pass
  uint64_t cases = 0;
};

/// Changes the status of the records that waivers match. `day` is that of the
/// run; `whole` says that all cases ran, so that a waiver without a match is an
/// error.
Waived applyWaivers(const std::vector<Waiver> &waivers, const RunFacts &facts,
                    Date day, bool whole, std::vector<Record> &records);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPORT_WAIVERS_H
