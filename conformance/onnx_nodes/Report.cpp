// SPDX-License-Identifier: Apache-2.0
#include "Report.h"

#include "conformance/publish/PageJson.h"
#include "conformance/publish/Publish.h"
#include "conformance/report/StrictJson.h"
#include "sdk/support/AtomicFile.h"
#include "sdk/support/TextViews.h"

#include <sstream>

namespace backplane::conformance {

namespace {

constexpr const char *page =
#include "conformance/onnx_nodes/report.mustache.inc"
    ;

using Records = std::vector<Record>;

Result<Records> readRecords(const std::string &path) {
  constexpr uint64_t maxBytes = uint64_t(1) << 30;
  auto text = readTextFile(path, maxBytes);
  if (!text)
    return text.status();
  Records records;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    auto record = parseRecord(line);
    if (!record)
      return record.status().within(path);
    records.push_back(std::move(*record));
  }
  return records;
}

bool isRefused(const Record &record) {
  return record.status == CaseStatus::NotSupported;
}

struct Count {
  uint64_t passed = 0, refused = 0, all = 0;
};

nlohmann::json coverage(const Records &records) {
  std::map<std::string, Count> ops;
  for (const Record &record : records) {
    Count &count = ops[record.op];
    ++count.all;
    count.refused += isRefused(record);
    count.passed += isGood(record.status) && !isRefused(record);
  }
  nlohmann::json rows = nlohmann::json::array();
  for (const auto &[op, numbers] : ops)
    rows.push_back({{"op", op},
                    {"passed", count(numbers.passed)},
                    {"refused", count(numbers.refused)},
                    {"all", count(numbers.all)}});
  return rows;
}

/// Records with their reasons: those that failed, or those that were refused.
/// Nothing when there are none.
nlohmann::json listed(const Records &records, bool refusals) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Record &record : records)
    if (refusals ? isRefused(record) : !isGood(record.status))
      rows.push_back({{"id", record.id},
                      {"status", name(record.status)},
                      {"reason", record.reason}});
  if (rows.empty())
    return nullptr;
  return {{"rows", rows}};
}

std::string summary(const Records &records) {
  Count sum;
  uint64_t elements = 0;
  for (const Record &record : records) {
    sum.refused += isRefused(record);
    sum.passed += isGood(record.status) && !isRefused(record);
    elements += record.elements;
  }
  return count(records.size()) + " checks: " + count(sum.passed) + " passed, " +
         count(sum.refused) + " refused, " +
         count(records.size() - sum.passed - sum.refused) + " not good. " +
         count(elements) + " elements compared.";
}

std::string pageOf(const Records &records, const std::string &device) {
  return render(page,
                {{"title", "ONNX node tests · " +
                               (device.empty() ? "stored outputs" : device)},
                 {"summary", summary(records)},
                 {"failed", listed(records, false)},
                 {"coverage", coverage(records)},
                 {"grids", gridsJson(records)},
                 {"histograms", histogramsJson(records)},
                 {"refused", listed(records, true)}});
}

} // namespace

Status writeNodeReport(const std::string &folder, const std::string &device) {
  auto records = readRecords(folder + "/records.jsonl");
  if (!records)
    return records.status();
  if (Status s = writeFileAtomically(folder + "/report.html",
                                     asBytes(pageOf(*records, device)));
      !s.ok())
    return s;
  RunFacts facts;
  facts.suite = "ONNX node tests";
  facts.device = device.empty() ? "stored outputs" : device;
  return writeFileAtomically(folder + "/junit.xml",
                             asBytes(junitXml(facts, *records)));
}

} // namespace backplane::conformance
