// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/Html.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::conformance;

namespace {

Record record(std::string id, std::string op, std::string dtype,
              CaseStatus status, double limitUsed) {
  Record record;
  record.id = std::move(id);
  record.layer = 3;
  record.op = std::move(op);
  record.dtype = std::move(dtype);
  record.status = status;
  record.limitUsed = limitUsed;
  record.elements = 10;
  record.ulps = {7, 2, 1};
  return record;
}

std::vector<Record> sample() {
  return {record("a", "exp", "f32", CaseStatus::Pass, 0.25),
          record("b", "exp", "f32", CaseStatus::QualityWarning, 0.75),
          record("c<&>", "max", "f32", CaseStatus::Fail, 3),
          record("d", "max", "i8", CaseStatus::Pass, 0),
          record("e", "max", "f16", CaseStatus::NotSupported, 0)};
}

bool has(const std::string &page, const std::string &text) {
  return page.find(text) != std::string::npos;
}

std::string page() {
  RunFacts facts;
  facts.device = "ref://interpreter";
  facts.date = "2026-11-21T10:00:00Z";
  facts.environment = {{"machine", "<here>"}};
  std::vector<Record> records = sample();
  RunVerdict verdict =
      judgeRun(facts, records, {"a", "b", "c<&>", "d", "e"}, {});
  return reportHtml(facts, verdict, records);
}

TEST(Html, ColoursEachCellByItsWorstCase) {
  std::string html = page();
  EXPECT_TRUE(has(html, "<b class=\"w\" title=\"2 of 2 good"));
  EXPECT_TRUE(has(html, "<b class=\"b\" title=\"0 of 1 good"));
  EXPECT_TRUE(
      has(html, "<b class=\"g\" style=\"--s:14%\" title=\"1 of 1 good"));
  EXPECT_TRUE(has(html, "<b class=\"s\" title=\"1 cases: not declared"));
}

TEST(Html, GivesFailuresWithTheLineThatRepeatsThem) {
  std::string html = page();
  EXPECT_TRUE(has(html, "bp conformance --device &apos;ref://interpreter&apos; "
                        "--repro &apos;c&lt;&amp;&gt;&apos;"));
  size_t failed = html.find("Cases that are not good");
  size_t closest = html.find("id=\"closest\"");
  EXPECT_LT(failed, closest);
  EXPECT_LT(html.find("--repro &apos;b", closest),
            html.find("--repro &apos;a", closest))
      << "the largest share of a limit comes first";
}

TEST(Html, EscapesTextAndLoadsNothing) {
  std::string html = page();
  EXPECT_TRUE(has(html, "<dd>&lt;here&gt;</dd>"));
  EXPECT_FALSE(has(html, "c<&>"));
  for (const char *outside :
       {"<script", "http:", "https:", "src=", "@import", "{{", "}}<"})
    EXPECT_FALSE(has(html, outside)) << outside;
}

TEST(Html, ShowsHistogramsOfFloatsOnly) {
  std::string html = page();
  size_t start = html.find("id=\"errors\"");
  std::string part = html.substr(start, html.find("id=\"closest\"") - start);
  EXPECT_TRUE(has(part, "<summary>f32 "));
  EXPECT_FALSE(has(part, "<summary>i8 "));
}

TEST(Html, WorksWithoutAnyRecord) {
  EXPECT_TRUE(has(reportHtml({}, {}, {}), "</html>"));
}

} // namespace
