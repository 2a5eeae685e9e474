// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Outcomes.h"

#include <map>

using namespace backplane;
using namespace backplane::conformance;

Outcomes conformance::outcomesOf(const std::vector<Record> &records) {
  Outcomes found;
  for (const Record &record : records)
    switch (record.status) {
    case CaseStatus::Refused:
      ++found.refused;
      break;
    case CaseStatus::Assisted:
      ++found.assisted;
      break;
    case CaseStatus::Crash:
      ++found.crashed;
      break;
    case CaseStatus::Timeout:
      ++found.hung;
      break;
    case CaseStatus::DeviceLost:
    case CaseStatus::ResourceError:
      ++found.lost;
      break;
    default:
      found.wrong += isBad(record.status);
    }
  return found;
}

std::string conformance::outcomesText(const std::vector<Record> &records) {
  const Outcomes found = outcomesOf(records);
  std::string text = "outcomes: " + std::to_string(found.wrong) + " wrong, " +
                     std::to_string(found.refused) + " refused, " +
                     std::to_string(found.crashed) + " crashed, " +
                     std::to_string(found.hung) + " hung, " +
                     std::to_string(found.lost) + " lost or short of memory";
  if (found.assisted)
    text += ", " + std::to_string(found.assisted) +
            " right with the help of another device";
  text += "\n";
  struct Refusals {
    uint64_t cases = 0;
    std::string reason; ///< of the first
  };
  std::map<std::string, Refusals> byOp;
  for (const Record &record : records)
    if (record.status == CaseStatus::Refused)
      if (Refusals &refusals = byOp[record.op]; refusals.cases++ == 0)
        refusals.reason = record.reason;
  for (const auto &[op, refusals] : byOp)
    text += "refused: " + op + ", " + std::to_string(refusals.cases) +
            (refusals.cases == 1 ? " case" : " cases") +
            ", the first because " + refusals.reason + "\n";
  return text;
}
