// SPDX-License-Identifier: Apache-2.0
#include "Report.h"

#include "conformance/publish/HtmlParts.h"
#include "conformance/publish/Publish.h"
#include "conformance/report/StrictJson.h"
#include "sdk/support/AtomicFile.h"

#include <sstream>

namespace backplane::conformance {

namespace {

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

std::string coverage(const Records &records) {
  std::map<std::string, Count> ops;
  for (const Record &record : records) {
    Count &count = ops[record.op];
    ++count.all;
    count.refused += isRefused(record);
    count.passed += isGood(record.status) && !isRefused(record);
  }
  html::TextTable rows = {{"op", "passed", "refused", "checks"}};
  for (const auto &[op, count] : ops)
    rows.push_back({op, html::count(count.passed), html::count(count.refused),
                    html::count(count.all)});
  return html::heading("coverage", "Coverage by op",
                       "Forms of an op in which it is spelled out by others "
                       "count for it.") +
         html::table(rows);
}

/// Records with their reasons: those that failed, or those that were refused.
std::string listed(const Records &records, bool refusals) {
  html::TextTable rows = {{"test", "status", "reason"}};
  for (const Record &record : records)
    if (refusals ? isRefused(record) : !isGood(record.status))
      rows.push_back(
          {record.id, std::string(name(record.status)), record.reason});
  if (rows.size() == 1)
    return "";
  return html::heading(refusals ? "refused" : "failed",
                       refusals ? "Refused" : "Not good", "") +
         html::table(rows);
}

std::string page(const Records &records, const std::string &device) {
  Count sum;
  uint64_t elements = 0;
  for (const Record &record : records) {
    sum.refused += isRefused(record);
    sum.passed += isGood(record.status) && !isRefused(record);
    elements += record.elements;
  }
  std::string title =
      "ONNX node tests · " + (device.empty() ? "stored outputs" : device);
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
         "<meta name=\"viewport\" content=\"width=device-width,"
         "initial-scale=1\"><title>" +
         html::escape(title) + "</title><style>" + html::style +
         "</style></head><body><main><h1>" + html::escape(title) + "</h1><p>" +
         html::count(records.size()) + " checks: " + html::count(sum.passed) +
         " passed, " + html::count(sum.refused) + " refused, " +
         html::count(records.size() - sum.passed - sum.refused) +
         " not good. " + html::count(elements) + " elements compared.</p>\n" +
         listed(records, false) + coverage(records) + html::heatMaps(records) +
         html::histograms(records) + listed(records, true) +
         "</main></body></html>\n";
}

Status write(const std::string &path, const std::string &text) {
  return writeFileAtomically(
      path, {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

} // namespace

Status writeNodeReport(const std::string &folder, const std::string &device) {
  auto records = readRecords(folder + "/records.jsonl");
  if (!records)
    return records.status();
  if (Status s = write(folder + "/report.html", page(*records, device));
      !s.ok())
    return s;
  RunFacts facts;
  facts.suite = "ONNX node tests";
  facts.device = device.empty() ? "stored outputs" : device;
  return write(folder + "/junit.xml", junitXml(facts, *records));
}

} // namespace backplane::conformance
