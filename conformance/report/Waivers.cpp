// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Waivers.h"

#include "conformance/report/StrictJson.h"
#include "sdk/support/Glob.h"

#include <algorithm>
#include <charconv>
#include <set>

using namespace backplane;
using namespace backplane::conformance;

namespace {

constexpr size_t maxWaivers = 200, maxGlobs = 20, maxGlobBytes = 200;
constexpr auto longest = std::chrono::days(180);
/// One case in so many may be waived.
constexpr uint64_t capDivisor = 200;

bool anyMatch(const std::vector<std::string> &globs, std::string_view text) {
  return std::ranges::any_of(
      globs, [&](const std::string &glob) { return matchesGlob(glob, text); });
}

void readGlobs(ObjectReader &reader, const char *key,
               std::vector<std::string> &out) {
  reader.read(key, out);
  const std::string name = "'" + std::string(key) + "'";
  if (out.empty() || out.size() > maxGlobs)
    reader.fail(name + " is not a list of 1 to " + std::to_string(maxGlobs) +
                " globs");
  for (const std::string &glob : out)
    if (glob.empty() || glob.size() > maxGlobBytes)
      reader.fail(name + " has a glob of 0 or more than " +
                  std::to_string(maxGlobBytes) + " bytes");
}

void readText(ObjectReader &reader, const char *key, std::string &out) {
  reader.read(key, out);
  if (out.find_first_not_of(' ') == std::string::npos)
    reader.fail("'" + std::string(key) + "' says nothing");
}

void readExpiry(ObjectReader &reader, Date day, Date &out) {
  std::string text;
  reader.read("expires", text);
  auto date = parseDate(text);
  if (!date || text.size() != 10)
    return reader.fail("'expires' is not a date like 2026-11-21");
  if (*date - day > longest)
    reader.fail("'expires' is more than " + std::to_string(longest.count()) +
                " days after " + textOf(day));
  out = *date;
}

Result<Waiver> readWaiver(ObjectReader &reader, Date day) {
  Waiver waiver;
  readText(reader, "id", waiver.id);
  if (waiver.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") !=
      std::string::npos)
    reader.fail("'id' has other characters than a-z, 0-9 and -");
  readGlobs(reader, "cases", waiver.cases);
  readGlobs(reader, "devices", waiver.devices);
  readGlobs(reader, "suite_versions", waiver.suites);
  readText(reader, "reason", waiver.reason);
  readText(reader, "url", waiver.url);
  if (!waiver.url.starts_with("https://") && !waiver.url.starts_with("http://"))
    reader.fail("'url' does not start with https:// or http://");
  readText(reader, "owner", waiver.owner);
  readExpiry(reader, day, waiver.expires);
  if (Status s = reader.finish(); !s.ok())
    return s;
  return waiver;
}

/// Statuses that a waiver can explain; the suite's own faults are not among
/// them.
bool isWaivable(CaseStatus status) {
  return isBad(status) && status != CaseStatus::OracleError &&
         status != CaseStatus::Mistrusted && status != CaseStatus::XPass;
}

/// Why a case may never be waived; empty: it may.
std::string protectionOf(const Record &record) {
  if (record.layer <= 2)
    return "layers 0 to 2 take no waiver";
  if (record.dataSet == "integers" || record.dataSet == "one-hot")
    return "exact sums take no waiver";
  return {};
}

/// Applies one waiver to one record that it matches.
void apply(WaiverUse &use, Record &record, Waived &result) {
  const std::string &id = use.waiver.id;
  if (std::string why = protectionOf(record); !why.empty()) {
    result.errors.push_back("waiver '" + id + "' matches " + record.id + ": " +
                            why);
  } else if (isWaivable(record.status)) {
    ++use.waived;
    if (use.expired) {
      record.reason = "waiver '" + id + "' expired on " +
                      textOf(use.waiver.expires) + "; " + record.reason;
      return;
    }
    ++result.cases;
    record.reason = "waived by '" + id + "', was " +
                    std::string(name(record.status)) + ": " + record.reason;
    record.status = CaseStatus::Waived;
  } else if (record.status == CaseStatus::Pass ||
             record.status == CaseStatus::QualityWarning) {
    record.reason = "passes although waiver '" + id + "' covers it";
    record.status = CaseStatus::XPass;
  }
}

void checkUses(const RunFacts &facts, bool whole, Waived &result) {
  for (const WaiverUse &use : result.uses)
    if (whole && use.applies && !use.waived)
      result.errors.push_back("waiver '" + use.waiver.id +
                              "' matches no failing case; remove it");
  if (result.cases * capDivisor > facts.cases)
    result.errors.push_back(std::to_string(result.cases) +
                            " cases are waived; at most " +
                            std::to_string(facts.cases / capDivisor) + " of " +
                            std::to_string(facts.cases) + " may be");
}

} // namespace

std::optional<Date> conformance::parseDate(std::string_view text) {
  int numbers[3] = {};
  constexpr size_t starts[] = {0, 5, 8}, sizes[] = {4, 2, 2};
  if (text.size() < 10 || text[4] != '-' || text[7] != '-')
    return std::nullopt;
  for (int i = 0; i < 3; ++i) {
    const char *end = text.data() + starts[i] + sizes[i];
    auto [stop, code] =
        std::from_chars(text.data() + starts[i], end, numbers[i]);
    if (code != std::errc() || stop != end || numbers[i] < 0)
      return std::nullopt;
  }
  std::chrono::year_month_day date{std::chrono::year(numbers[0]),
                                   std::chrono::month(unsigned(numbers[1])),
                                   std::chrono::day(unsigned(numbers[2]))};
  if (!date.ok())
    return std::nullopt;
  return Date(date);
}

std::string conformance::textOf(Date date) {
  std::chrono::year_month_day day(date);
  char text[32];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", int(day.year()),
                unsigned(day.month()), unsigned(day.day()));
  return text;
}

Result<std::vector<Waiver>> conformance::parseWaivers(std::string_view text,
                                                      Date day) {
  auto json = parseStrictJson(text);
  if (!json)
    return json.status().within("waivers");
  ObjectReader reader(*json, "waivers");
  uint64_t format = 0;
  reader.read("format", format);
  if (format != 1)
    reader.fail("'format' is not 1");
  std::vector<Waiver> waivers;
  std::set<std::string> ids;
  for (ObjectReader &item : reader.readObjects("waivers")) {
    auto waiver = readWaiver(item, day);
    if (!waiver)
      return waiver.status();
    if (!ids.insert(waiver->id).second)
      reader.fail("the id '" + waiver->id + "' stands twice");
    waivers.push_back(std::move(*waiver));
  }
  if (waivers.size() > maxWaivers)
    reader.fail("more than " + std::to_string(maxWaivers) + " waivers");
  if (Status s = reader.finish(); !s.ok())
    return s;
  return waivers;
}

Waived conformance::applyWaivers(const std::vector<Waiver> &waivers,
                                 const RunFacts &facts, Date day, bool whole,
                                 std::vector<Record> &records) {
  Waived result;
  for (const Waiver &waiver : waivers) {
    WaiverUse use{.waiver = waiver};
    use.applies = anyMatch(waiver.devices, facts.device) &&
                  anyMatch(waiver.suites, facts.suite);
    use.expired = day >= waiver.expires;
    for (Record &record : records)
      if (use.applies && record.status != CaseStatus::Waived &&
          anyMatch(waiver.cases, record.id))
        apply(use, record, result);
    result.uses.push_back(std::move(use));
  }
  checkUses(facts, whole, result);
  return result;
}
