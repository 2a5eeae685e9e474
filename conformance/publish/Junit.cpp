// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/Publish.h"

#include <cstdio>

using namespace backplane;
using namespace backplane::conformance;

namespace {

/// XML text; what XML cannot hold, and bytes that are not ASCII, become '?'.
std::string escape(const std::string &text) {
  std::string out;
  for (char c : text)
    out += c == '&'                              ? "&amp;"
           : c == '<'                            ? "&lt;"
           : c == '>'                            ? "&gt;"
           : c == '"'                            ? "&quot;"
           : c != '\n' && (c < ' ' || c >= 0x7f) ? "?"
                                                 : std::string(1, c);
  return out;
}

std::string seconds(double milliseconds) {
  char text[48];
  std::snprintf(text, sizeof text, "%.6f", milliseconds / 1000);
  return text;
}

std::string testCase(const Record &record) {
  std::string out = "  <testcase classname=\"L" + std::to_string(record.layer) +
                    "." + escape(record.op) + "\" name=\"" + escape(record.id) +
                    "\" time=\"" + seconds(record.compileMs + record.runMs) +
                    "\"";
  const std::string status(name(record.status));
  if (record.status == CaseStatus::Pass)
    return out + "/>\n";
  out += ">";
  const std::string reason = escape(record.reason);
  if (isBad(record.status))
    out += "<failure type=\"" + status + "\" message=\"" + reason + "\"/>";
  else if (record.status == CaseStatus::QualityWarning)
    out += "<system-out>more than half of a limit used</system-out>";
  else
    out += "<skipped message=\"" + status + ": " + reason + "\"/>";
  return out + "</testcase>\n";
}

struct Suite {
  uint64_t failures = 0, skipped = 0, tests = 0;
  double milliseconds = 0;
  std::string cases;

  void add(const Record &record) {
    ++tests;
    bool ran = record.status == CaseStatus::Pass ||
               record.status == CaseStatus::QualityWarning;
    failures += isBad(record.status);
    skipped += !isBad(record.status) && !ran;
    milliseconds += record.compileMs + record.runMs;
    cases += testCase(record);
  }
  std::string attributes() const {
    return " tests=\"" + std::to_string(tests) + "\" failures=\"" +
           std::to_string(failures) + "\" errors=\"0\" skipped=\"" +
           std::to_string(skipped) + "\" time=\"" + seconds(milliseconds) +
           "\"";
  }
};

} // namespace

std::string conformance::junitXml(const RunFacts &facts,
                                  const std::vector<Record> &records) {
  std::map<std::pair<int, std::string>, Suite> suites;
  Suite all;
  for (const Record &record : records) {
    suites[{record.layer, record.op}].add(record);
    all.add(record);
  }
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "
                    "name=\"Backplane conformance " +
                    escape(facts.suite) + ": " + escape(facts.device) + "\"" +
                    all.attributes() + ">\n";
  for (const auto &[key, suite] : suites)
    out += " <testsuite name=\"L" + std::to_string(key.first) + "/" +
           escape(key.second) + "\"" + suite.attributes() + ">\n" +
           suite.cases + " </testsuite>\n";
  return out + "</testsuites>\n";
}
