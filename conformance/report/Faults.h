// SPDX-License-Identifier: Apache-2.0
//
// Faults.h: crashes and time-outs by cause, so that a run that does nothing
// else ends; and faults that are none of the device.
#ifndef BACKPLANE_CONFORMANCE_REPORT_FAULTS_H
#define BACKPLANE_CONFORMANCE_REPORT_FAULTS_H

#include "conformance/report/Record.h"

#include <map>
#include <span>

namespace backplane::conformance {

/// So many faults of one cause end a run.
constexpr unsigned maxFaults = 5;

/// Fails, naming the case, where one is bad as a disk is full, which says
/// nothing of the device.
Status checkRoom(std::span<const Record> records);

/// Time-outs are all of one cause; crashes are where the process ended in the
/// same way. Not thread-safe.
class Faults {
public:
  /// Takes a record of any status. True from the maxFaults-th fault of its
  /// cause on.
  bool add(const Record &record);
  /// "5 crashes of one cause, the first in L3/add/f32: signal 11"; empty until
  /// `add` was true.
  const std::string &text() const { return text_; }

private:
  struct Cause {
    unsigned count = 0;
    std::string first; ///< id
  };
  std::map<std::string, Cause> causes_;
  std::string text_;
};

} // namespace backplane::conformance

#endif // BACKPLANE_CONFORMANCE_REPORT_FAULTS_H
