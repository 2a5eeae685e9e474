// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Probed.h"

#include <gtest/gtest.h>

using namespace backplane::conformance;

namespace {

Record probe(const std::string &unit, const std::string &data,
             CaseStatus status) {
  Record record;
  record.op = "numerics";
  record.unit = "L3/numerics/f16/" + unit;
  record.dtype = "f16";
  record.dataSet = data;
  record.status = status;
  record.got = "11 bits";
  record.want = "24 bits";
  return record;
}

TEST(Probed, TellsWhatWasFoundBesideWhatIsDeclared) {
  std::vector<Record> records = {
      probe("DOT", "probe-accumulator", CaseStatus::Fail),
      probe("DOT-repeat", "uniform", CaseStatus::Flaky),
      probe("ULP", "probe-flush-input", CaseStatus::NotSupported), Record()};
  auto facts = probedFacts(records);
  ASSERT_EQ(facts.size(), 2u);
  EXPECT_EQ(facts[0].opClass, "DOT");
  EXPECT_EQ(facts[0].dtype, "f16");
  EXPECT_EQ(facts[0].property, "accumulator");
  EXPECT_EQ(facts[0].found, "11 bits");
  EXPECT_EQ(facts[0].declared, "24 bits");
  EXPECT_FALSE(facts[0].holds);
  EXPECT_EQ(facts[1].opClass, "DOT");
  EXPECT_EQ(facts[1].property, "repetition");
  EXPECT_EQ(facts[1].found, "two runs differ");
}

TEST(Probed, NamesAProbeThatGaveNothing) {
  Record record = probe("REDUCE", "probe-rounding", CaseStatus::Crash);
  record.got.clear();
  EXPECT_EQ(probedFacts({&record, 1})[0].found, "Crash");
}

} // namespace
