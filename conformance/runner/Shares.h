// SPDX-License-Identifier: Apache-2.0
//
// Shares.h: how many dispatches of an artifact the device under test runs, and
// how many another one that may help it.
#ifndef BACKPLANE_CONFORMANCE_RUNNER_SHARES_H
#define BACKPLANE_CONFORMANCE_RUNNER_SHARES_H

#include "backplane/cpp/Result.h"
#include "conformance/report/Record.h"

#include <cstdint>
#include <span>

namespace backplane::conformance {

struct Shares {
  size_t own = 0;    ///< dispatches on the first device
  size_t others = 0; ///< on other devices
};

/// Of the only variant of an artifact, regions included. The first device is
/// the one under test, whether anything runs on it or not.
Result<Shares> sharesOf(std::span<const uint8_t> artifact);

/// Charges the help to a good case: Assisted, or Refused where the device under
/// test had no part in it.
void chargeHelp(const Shares &shares, Record &record);

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_RUNNER_SHARES_H
