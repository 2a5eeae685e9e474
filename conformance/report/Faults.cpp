// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Faults.h"

#include <cerrno>
#include <cstring>

using namespace backplane;
using namespace backplane::conformance;

Status conformance::checkRoom(std::span<const Record> records) {
  for (const Record &record : records)
    if (isBad(record.status) &&
        record.reason.find(strerror(ENOSPC)) != std::string::npos)
      return Status(BP_STATUS_UNAVAILABLE,
                    record.id + ": " + record.reason +
                        "; make room and repeat the command, a run goes on "
                        "with --resume");
  return {};
}

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
