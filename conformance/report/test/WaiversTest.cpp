// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Waivers.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::conformance;

namespace {

const Date today = *parseDate("2026-11-21");

const std::string good = R"({"format": 1, "waivers": [{
  "id": "slow-exp", "cases": ["L3/exp/*"], "devices": ["acme:*"],
  "suite_versions": ["0.2.*"], "reason": "erratum 7",
  "url": "https://acme.example/7", "owner": "a@acme.example",
  "expires": "2027-01-01"}]})";

std::string with(const std::string &from, const std::string &to) {
  std::string text = good;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Record record(std::string id, CaseStatus status) {
  Record result;
  result.id = std::move(id);
  result.layer = 3;
  result.status = status;
  return result;
}

RunFacts facts() {
  RunFacts facts;
  facts.suite = "0.2.0";
  facts.device = "acme://0";
  facts.cases = 400;
  return facts;
}

Waived apply(std::vector<Record> &records, const std::string &text = good,
             Date day = today, bool whole = true) {
  auto waivers = parseWaivers(text, day);
  EXPECT_TRUE(waivers.ok()) << waivers.message();
  return waivers ? applyWaivers(*waivers, facts(), day, whole, records)
                 : Waived();
}

TEST(Dates, AreCalendarDates) {
  EXPECT_EQ(textOf(today), "2026-11-21");
  EXPECT_EQ(parseDate("2026-11-21T10:00:00Z"), today);
  for (const char *bad : {"", "2026-13-01", "2026-02-29", "26-01-01", "now",
                          "2026/01/01", "2026-1-011", "-026-01-01"})
    EXPECT_FALSE(parseDate(bad)) << bad;
}

TEST(Waivers, RefuseWhatIsNotExact) {
  ASSERT_TRUE(parseWaivers(good, today).ok());
  for (const std::string &text :
       {std::string(), std::string("[]"), good + "x",
        with("\"format\": 1", "\"format\": 2"),
        with("\"owner\": \"a@acme.example\",", ""),
        with("\"owner\"", "\"reason\""), with("\"owner\"", "\"owners\""),
        with("slow-exp", "Slow exp"), with("slow-exp", ""),
        with("[\"L3/exp/*\"]", "[]"), with("[\"L3/exp/*\"]", "[\"\"]"),
        with("[\"L3/exp/*\"]", "\"L3/exp/*\""), with("erratum 7", "  "),
        with("https:", "file:"), with("2027-01-01", "2027-06-01"),
        with("2027-01-01", "tomorrow"), with("erratum 7", "a\\u0007b"),
        with("}]", "}, {}]")})
    EXPECT_FALSE(parseWaivers(text, today).ok()) << text;
}

TEST(Waivers, RefuseTheSameIdTwice) {
  size_t first = good.find("[{") + 1;
  std::string one = good.substr(first, good.rfind("}]") + 1 - first);
  auto twice = parseWaivers(
      "{\"format\":1,\"waivers\":[" + one + "," + one + "]}", today);
  ASSERT_FALSE(twice.ok());
  EXPECT_NE(twice.message().find("stands twice"), std::string::npos);
}

TEST(Waivers, TurnFailuresIntoWaived) {
  std::vector<Record> records = {
      record("L3/exp/f32/a", CaseStatus::Crash),
      record("L3/log/f32/a", CaseStatus::Fail),
      record("L3/exp/f64/a", CaseStatus::NotSupported)};
  Waived waived = apply(records);
  EXPECT_TRUE(waived.errors.empty());
  EXPECT_EQ(waived.cases, 1u);
  EXPECT_EQ(records[0].status, CaseStatus::Waived);
  EXPECT_EQ(records[1].status, CaseStatus::Fail);
  EXPECT_EQ(records[2].status, CaseStatus::NotSupported);
}

TEST(Waivers, ExpireIntoFailures) {
  std::vector<Record> records = {record("L3/exp/f32/a", CaseStatus::Fail)};
  apply(records, good, *parseDate("2027-01-01"));
  EXPECT_EQ(records[0].status, CaseStatus::Fail);
  EXPECT_NE(records[0].reason.find("expired on 2027-01-01"), std::string::npos);
}

TEST(Waivers, ThatAreNotNeededAreErrors) {
  std::vector<Record> passing = {record("L3/exp/f32/a", CaseStatus::Pass)};
  EXPECT_EQ(apply(passing).errors.size(), 1u);
  EXPECT_EQ(passing[0].status, CaseStatus::XPass);
  std::vector<Record> none = {record("L3/log/f32/a", CaseStatus::Fail)};
  EXPECT_EQ(apply(none).errors.size(), 1u);
  EXPECT_TRUE(apply(none, good, today, false).errors.empty())
      << "a part of the cases cannot show that a waiver is not needed";
}

TEST(Waivers, NeverCoverLowLayersAndExactSums) {
  std::vector<Record> low = {record("L3/exp/f32/a", CaseStatus::Fail)};
  low[0].layer = 2;
  EXPECT_FALSE(apply(low).errors.empty());
  EXPECT_EQ(low[0].status, CaseStatus::Fail);
  std::vector<Record> exact = {record("L3/exp/f32/a", CaseStatus::Fail)};
  exact[0].dataSet = "one-hot";
  EXPECT_FALSE(apply(exact).errors.empty());
  EXPECT_EQ(exact[0].status, CaseStatus::Fail);
}

TEST(Waivers, NeverCoverFaultsOfTheSuite) {
  for (CaseStatus status : {CaseStatus::OracleError, CaseStatus::Mistrusted}) {
    std::vector<Record> records = {record("L3/exp/f32/a", status)};
    apply(records);
    EXPECT_EQ(records[0].status, status);
  }
}

TEST(Waivers, MayCoverOneCaseInTwoHundred) {
  std::vector<Record> records;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(i == 0 || apply(records).errors.empty()) << i;
    records.clear();
    for (int j = 0; j <= i; ++j)
      records.push_back(
          record("L3/exp/f32/" + std::to_string(j), CaseStatus::Fail));
  }
  EXPECT_FALSE(apply(records).errors.empty());
}

} // namespace
