// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Outcomes.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::conformance;

namespace {

Record record(const std::string &op, CaseStatus status,
              const std::string &reason = "") {
  Record made;
  made.op = op;
  made.status = status;
  made.reason = reason;
  return made;
}

TEST(Outcomes, CountEachBadCaseOnceAndNameRefusedOps) {
  const std::vector<Record> records = {
      record("add", CaseStatus::Pass),
      record("add", CaseStatus::NotSupported),
      record("add", CaseStatus::Fail),
      record("add", CaseStatus::Flaky),
      record("conv", CaseStatus::Refused, "no conv in f32"),
      record("conv", CaseStatus::Refused, "another reason"),
      record("sin", CaseStatus::Refused, "no sin"),
      record("cos", CaseStatus::Assisted, "1 of 2"),
      record("mul", CaseStatus::Crash),
      record("mul", CaseStatus::Timeout),
      record("mul", CaseStatus::DeviceLost)};
  EXPECT_EQ(outcomesText(records),
            "outcomes: 2 wrong, 3 refused, 1 crashed, 1 hung, 1 lost or short "
            "of memory, 1 right with the help of another device\n"
            "refused: conv, 2 cases, the first because no conv in f32\n"
            "refused: sin, 1 case, the first because no sin\n");
}

TEST(Outcomes, ARefusalIsNeitherGoodNorBad) {
  EXPECT_FALSE(isGood(CaseStatus::Refused));
  EXPECT_FALSE(isBad(CaseStatus::Refused));
  EXPECT_TRUE(isBad(CaseStatus::Fail));
  EXPECT_FALSE(isBad(CaseStatus::NotSupported));
}

} // namespace
