// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Verdict.h"

#include "conformance/report/BadgeTable.h"
#include "conformance/report/Faults.h"
#include "conformance/report/Profiles.h"
#include "conformance/report/Relaxed.h"
#include "conformance/report/Wording.h"

#include <set>

using namespace backplane;
using namespace backplane::conformance;

namespace {

/// Cases that the run was to have and has not, and the other way round.
std::vector<std::string> comparePlan(const std::vector<Record> &records,
                                     const std::vector<std::string> &planned) {
  std::set<std::string_view> open(planned.begin(), planned.end()), seen;
  uint64_t twice = 0, unknown = 0;
  std::string firstTwice, firstUnknown;
  for (const Record &record : records) {
    if (!seen.insert(record.id).second && twice++ == 0)
      firstTwice = record.id;
    else if (!open.contains(record.id) && unknown++ == 0)
      firstUnknown = record.id;
  }
  for (std::string_view id : seen)
    open.erase(id);
  std::vector<std::string> problems;
  if (twice)
    problems.push_back(plural(twice, "record") + " stand twice: " + firstTwice);
  if (unknown)
    problems.push_back(plural(unknown, "record") +
                       " of no case: " + firstUnknown);
  if (!open.empty())
    problems.push_back(plural(open.size(), "case") +
                       " without a record: " + std::string(*open.begin()));
  return problems;
}

Badge badgeOf(const RunVerdict &verdict) {
  Badge best = Badge::Strict;
  for (const Requirement &line : verdict.table)
    if (!line.met && line.badge <= best)
      best = static_cast<Badge>(static_cast<int>(line.badge) - 1);
  return best;
}

} // namespace

std::string_view conformance::name(Badge badge) {
  constexpr std::string_view names[] = {"no badge", "Core", "Full", "Strict"};
  return names[static_cast<int>(badge)];
}

std::string RunVerdict::title() const {
  if (badge != Badge::None)
    return std::string(name(badge)) + (relaxed.empty() ? "" : "-R") + " badge" +
           (marks.empty() ? "" : " (" + join(marks) + ")");
  if (!ended.empty())
    return "no badge: the run ended after " + ended;
  if (bad)
    return "no badge: " + plural(bad, "bad case");
  if (!problems.empty())
    return "no badge: " + problems[0];
  if (partial)
    return "no badge: only a part of the cases ran, " +
           (refused ? plural(refused, "case") + " refused, the others good"
                    : "all of them good");
  return "no badge: " + join(missing(), 1);
}

std::vector<std::string> RunVerdict::missing() const {
  std::vector<std::string> lines;
  Badge next = badge == Badge::Strict
                   ? badge
                   : static_cast<Badge>(static_cast<int>(badge) + 1);
  for (const Requirement &line : table)
    if (!line.met && line.badge <= next)
      lines.push_back(line.text +
                      (line.detail.empty() ? "" : ": " + line.detail));
  return lines;
}

RunVerdict conformance::judgeRun(const RunFacts &facts,
                                 std::vector<Record> &records,
                                 const std::vector<std::string> &planned,
                                 const std::vector<Waiver> &waivers) {
  RunVerdict verdict;
  verdict.partial =
      isFiltered(facts) || facts.shards > 1 || isHelped(facts.device);
  verdict.problems = comparePlan(records, planned);
  auto day = parseDate(facts.date);
  if (!day)
    verdict.problems.push_back("the run has no date");
  verdict.waivers = applyWaivers(waivers, facts, day.value_or(Date::max()),
                                 !verdict.partial, records);
  for (const std::string &error : verdict.waivers.errors)
    verdict.problems.push_back(error);
  Faults faults;
  for (const Record &record : records) {
    faults.add(record);
    ++verdict.counts[record.layer][record.status];
    verdict.bad += isBad(record.status);
    verdict.refused += record.status == CaseStatus::Refused;
  }
  if (records.size() < planned.size())
    verdict.ended = faults.text();
  verdict.relaxed = relaxedOf(facts);
  verdict.marks = marksOf(facts);
  if (facts.profile != wholeProfile)
    verdict.marks.insert(verdict.marks.begin(), "profile " + facts.profile);
  if (verdict.waivers.cases)
    verdict.marks.push_back(plural(verdict.waivers.cases, "waived case"));
  verdict.tested = testedLimits(records);
  fillBadgeTable(facts, records, verdict);
  verdict.badge = badgeOf(verdict);
  verdict.passed = !verdict.bad && verdict.problems.empty() &&
                   (verdict.partial || verdict.badge != Badge::None);
  return verdict;
}

std::string conformance::limitsText(const RunVerdict &verdict) {
  std::string out;
  if (verdict.badge != Badge::None)
    out += limitsTable(verdict.tested);
  OpLimits all = overall(verdict.tested);
  out += "tested in " + plural(all.cases, "case") + " up to " +
         textOf(all.most) + "\n";
  if (verdict.badge != Badge::None)
    for (std::string_view limit : methodLimits())
      out += "limit: " + std::string(limit) + "\n";
  return out;
}

std::string conformance::tableText(const RunVerdict &verdict) {
  std::string out;
  Badge shown = Badge::None;
  for (const Requirement &line : verdict.table) {
    if (line.badge != shown)
      out += std::string(name(line.badge)) + "\n";
    shown = line.badge;
    out += std::string(line.met ? "  + " : "  - ") + line.text +
           (line.detail.empty() ? "" : " (" + line.detail + ")") + "\n";
  }
  if (!verdict.relaxed.empty())
    out += "relaxed, hence -R: " + join(verdict.relaxed) + "\n";
  return out;
}
