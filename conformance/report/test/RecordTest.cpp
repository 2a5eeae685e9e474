// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Record.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace backplane;
using namespace backplane::conformance;

namespace {

Record sample() {
  Record record;
  record.id = "L3/exp/f32/plain/specials";
  record.layer = 3;
  record.op = "exp";
  record.seed = UINT64_MAX;
  record.tags = {"nan", "tail"};
  record.status = CaseStatus::QualityWarning;
  record.reason = "a \"quoted\" reason\n";
  record.limitUsed = 0.1;
  record.limit = INFINITY;
  record.bias = -0.25;
  record.elements = 1000;
  record.ulps = {990, 10};
  record.tested = {4096, 3, 65536, 3.5, 12, 0.25};
  return record;
}

TEST(Record, ReadsWhatItWrites) {
  std::string line = toJson(sample());
  EXPECT_EQ(line.find('\n'), std::string::npos);
  auto record = parseRecord(line);
  ASSERT_TRUE(record.ok()) << record.message();
  EXPECT_EQ(toJson(*record), line);
  EXPECT_EQ(record->seed, UINT64_MAX);
  EXPECT_EQ(record->reason, sample().reason);
  EXPECT_TRUE(std::isinf(record->limit));
  EXPECT_EQ(record->ulps, sample().ulps);
  EXPECT_EQ(record->tested, sample().tested);
}

TEST(Record, ReadsNotANumber) {
  Record record = sample();
  record.limitUsed = NAN;
  auto read = parseRecord(toJson(record));
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(std::isnan(read->limitUsed));
}

TEST(Record, WritesTextThatIsNotUtf8) {
  Record record = sample();
  record.got = "\xff\xfe";
  EXPECT_TRUE(parseRecord(toJson(record)).ok());
}

TEST(Record, RefusesWhatIsNoRecord) {
  std::string good = toJson(sample());
  auto with = [&](const std::string &from, const std::string &to) {
    std::string line = good;
    size_t at = line.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return line.replace(at, from.size(), to);
  };
  for (const std::string &line :
       {std::string(), std::string("[]"), good.substr(0, good.size() / 2),
        with("QualityWarning", "Excellent"),
        with("\"elements\":1000", "\"x\":1"),
        with("\"elements\":1000", "\"elements\":-1"),
        with("\"layer\":3", "\"layer\":\"3\""), with("[990,", "["),
        with("{", "{\"more\":1,")})
    EXPECT_FALSE(parseRecord(line).ok()) << line;
}

TEST(Record, EveryStatusHasAName) {
  for (int i = 0; i <= static_cast<int>(CaseStatus::Flaky); ++i) {
    auto status = static_cast<CaseStatus>(i);
    EXPECT_EQ(parseCaseStatus(name(status)), status);
  }
  EXPECT_FALSE(parseCaseStatus("unknown"));
  EXPECT_FALSE(isGood(CaseStatus::Flaky));
  EXPECT_FALSE(isGood(CaseStatus::XPass));
}

} // namespace
