// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Faults.h"

using namespace backplane;
using namespace backplane::conformance;

bool Faults::add(const Record &record) {
  bool isTimeout = record.status == CaseStatus::Timeout;
  if (!isTimeout && record.status != CaseStatus::Crash)
    return false;
  Cause &cause = causes_[isTimeout ? std::string() : record.reason];
  if (cause.count == 0)
    cause.first = record.id;
  if (++cause.count < maxFaults)
    return false;
  if (text_.empty())
    text_ = std::to_string(maxFaults) +
            (isTimeout ? " time-outs" : " crashes of one cause") +
            ", the first in " + cause.first + ": " + record.reason;
  return true;
}
