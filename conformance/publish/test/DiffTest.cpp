// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/Diff.h"
#include "conformance/publish/test/VerifyTest.h"

using namespace backplane::conformance;

namespace {

TEST(Diff, SortsChangesByWhatTheyMean) {
  std::vector<Record> before, after;
  for (int i = 0; i < cases; ++i)
    before.push_back(planned(i));
  for (Record &record : before)
    record.status = CaseStatus::Pass;
  before[1].status = CaseStatus::Crash;
  after = before;
  after[0].status = CaseStatus::Timeout;
  after[1].status = CaseStatus::Pass;
  after[2].status = CaseStatus::NotSupported;
  after[3].limitUsed = 0.5;
  after[4].outputHash = "other";
  after.pop_back();
  after.push_back(planned(99));
  RunDiff diff = compareRuns(before, after);
  EXPECT_EQ(diff.failed.size(), 1u);
  EXPECT_EQ(diff.fixed.size(), 1u);
  EXPECT_EQ(diff.dropped.size(), 1u);
  EXPECT_EQ(diff.looser.size(), 1u);
  EXPECT_EQ(diff.changed.size(), 1u);
  EXPECT_EQ(diff.missing.size(), 1u);
  EXPECT_EQ(diff.added.size(), 1u);
  EXPECT_TRUE(diff.worse());
  EXPECT_NE(textOf(diff, 5).find("1 new failures\n  L3/exp/f32/n/0: Pass 0 -> "
                                 "Timeout 0"),
            std::string::npos)
      << textOf(diff, 5);
  EXPECT_FALSE(compareRuns(before, before).worse());
  EXPECT_EQ(textOf(compareRuns(before, before), 5), "no difference\n");
}

TEST(Junit, HasOneCasePerRecord) {
  std::vector<Record> records = passing(facts());
  records[1].status = CaseStatus::Crash;
  records[1].reason = "signal <6> & \"more\" \x01";
  std::string xml = junitXml(facts(), records);
  EXPECT_NE(xml.find("tests=\"8\" failures=\"1\" errors=\"0\" skipped=\"1\""),
            std::string::npos);
  EXPECT_NE(xml.find("<failure type=\"Crash\" message=\"signal &lt;6&gt; "
                     "&amp; &quot;more&quot; ?\"/>"),
            std::string::npos);
}

} // namespace
