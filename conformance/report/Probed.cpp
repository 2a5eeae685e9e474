// SPDX-License-Identifier: Apache-2.0
#include "Probed.h"

namespace backplane::conformance {

namespace {

/// "L3/numerics/f32/DOT-repeat" probes DOT.
std::string classOf(const Record &record) {
  std::string last = record.unit.substr(record.unit.rfind('/') + 1);
  return last.substr(0, last.find('-'));
}

std::string propertyOf(const Record &record) {
  constexpr std::string_view prefix = "probe-";
  if (record.dataSet.starts_with(prefix))
    return record.dataSet.substr(prefix.size());
  return "repetition";
}

std::string foundOf(const Record &record) {
  if (record.status == CaseStatus::Flaky)
    return "two runs differ";
  return record.got.empty() ? std::string(name(record.status)) : record.got;
}

} // namespace

std::vector<ProbedFact> probedFacts(std::span<const Record> records) {
  std::vector<ProbedFact> facts;
  for (const Record &record : records)
    if (record.op == "numerics" && record.status != CaseStatus::NotSupported)
      facts.push_back({classOf(record), record.dtype, propertyOf(record),
                       foundOf(record), record.want, isGood(record.status)});
  return facts;
}

} // namespace backplane::conformance
