// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Faults.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::conformance;

namespace {

Record fault(CaseStatus status, const std::string &id,
             const std::string &reason) {
  Record record;
  record.status = status;
  record.id = id;
  record.reason = reason;
  return record;
}

TEST(Faults, AFullDiskIsNoneOfTheDevice) {
  const std::string full = "x.bpx: cannot write: No space left on device";
  std::vector<Record> records = {fault(CaseStatus::Pass, "a", full),
                                 fault(CaseStatus::Fail, "b", "wrong")};
  EXPECT_TRUE(checkRoom(records).ok());
  records.push_back(fault(CaseStatus::ResourceError, "c", full));
  EXPECT_EQ(checkRoom(records).message(),
            "c: " + full +
                "; make room and repeat the command, a run goes on with "
                "--resume");
}

TEST(Faults, CountEachCauseByItself) {
  Faults faults;
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(faults.add(fault(CaseStatus::Crash, "a", "signal 11")));
    EXPECT_FALSE(faults.add(fault(CaseStatus::Crash, "b", "signal 8")));
    EXPECT_FALSE(faults.add(fault(CaseStatus::Timeout, "c", "30 s")));
    EXPECT_FALSE(faults.add(fault(CaseStatus::Fail, "d", "wrong")));
  }
  EXPECT_FALSE(faults.add(fault(CaseStatus::Fail, "d", "wrong")));
  EXPECT_TRUE(faults.text().empty());
  EXPECT_TRUE(faults.add(fault(CaseStatus::Timeout, "e", "30.1 s")));
  EXPECT_EQ(faults.text(), "5 time-outs, the first in c: 30.1 s");
  EXPECT_TRUE(faults.add(fault(CaseStatus::Crash, "f", "signal 11")));
}

} // namespace
