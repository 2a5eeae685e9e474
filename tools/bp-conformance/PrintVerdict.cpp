// SPDX-License-Identifier: Apache-2.0
#include "Commands.h"
#include "conformance/report/Outcomes.h"

#include <cstdio>

namespace backplane::conformance {

/// Text of a device or a submission without what would steer a terminal, but
/// for the characters of `kept`.
static std::string plain(std::string text, std::string_view kept = "") {
  for (char &c : text)
    if (kept.find(c) == std::string_view::npos &&
        (static_cast<unsigned char>(c) < ' ' || c == 0x7F))
      c = c == '\n' ? ' ' : '?';
  return text;
}

void printVerdict(const RunVerdict &verdict,
                  const std::vector<Record> &records) {
  for (const Record &record : records)
    if (isBad(record.status))
      std::printf("%s %s: %s\n", std::string(name(record.status)).c_str(),
                  plain(record.id).c_str(), plain(record.reason).c_str());
  for (const auto &[layer, row] : verdict.counts) {
    std::printf("layer %d:", layer);
    for (const auto &[status, count] : row)
      std::printf(" %zu %s", size_t(count), std::string(name(status)).c_str());
    std::printf("\n");
  }
  std::printf("%s%s%s", plain(outcomesText(records), "\n").c_str(),
              limitsText(verdict).c_str(), tableText(verdict).c_str());
  for (const std::string &problem : verdict.problems)
    std::printf("problem: %s\n", problem.c_str());
  std::printf("verdict: %s%s\n", verdict.title().c_str(),
              verdict.passed ? "" : " (not passed)");
}

} // namespace backplane::conformance
