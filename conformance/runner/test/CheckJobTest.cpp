// SPDX-License-Identifier: Apache-2.0
//
// Checks as the runner runs them: in workers, on drivers that break one rule.
#include "conformance/runner/Job.h"
#include "conformance/suite/PluginUnits.h"
#include "hal/core/test/PluginFolder.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::conformance;

namespace {

/// A unit of checks by id.
Unit unitOf(const std::vector<std::string> &ids) {
  Unit unit;
  unit.id = "L0/test";
  unit.layer = 0;
  unit.op = "test";
  unit.check = true;
  for (const std::string &id : ids) {
    Case one;
    one.id = id;
    one.dataSet = "check";
    unit.cases.push_back(one);
  }
  return unit;
}

struct CheckJob : testing::Test {
  std::vector<Record> run(int fault, const std::vector<std::string> &ids) {
    folder.addDriver(BP_FAULTY_DIR "/libfaulty" + std::to_string(fault) + ".so",
                     "faulty");
    setenv("BACKPLANE_PLUGIN_FILES",
           folder.path("faulty-1.0.0.bp.json").c_str(), 1);
    JobOptions options;
    options.worker = {BP_WORKER, "--device", "faulty"};
    options.compiler = {"/absent/compiler"};
    auto records = Job(options).run(unitOf(ids));
    EXPECT_TRUE(records.ok()) << records.message();
    return records ? *records : std::vector<Record>();
  }
  PluginFolder folder;
};

TEST_F(CheckJob, ADriverThatKeepsTheRulesIsGood) {
  auto records = run(0, {"L0/lifecycle/once", "L1/copy/execute/large",
                         "L1/import/writable-63", "L1/submit/signals"});
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].status, CaseStatus::Pass) << records[0].reason;
  EXPECT_EQ(records[1].status, CaseStatus::Pass) << records[1].reason;
  EXPECT_EQ(records[2].status, CaseStatus::NotSupported) << records[2].reason;
  EXPECT_EQ(records[3].status, CaseStatus::NotSupported) << records[3].reason;
}

TEST_F(CheckJob, AFailureIsThatOfItsCheck) {
  auto records = run(12, {"L0/lifecycle/once", "L0/open/unknown-option",
                          "L0/open/twice-at-once"});
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].status, CaseStatus::Pass) << records[0].reason;
  EXPECT_EQ(records[1].status, CaseStatus::Fail);
  EXPECT_NE(records[1].reason.find("unknown option"), std::string::npos)
      << records[1].reason;
  EXPECT_EQ(records[2].status, CaseStatus::Pass) << records[2].reason;
}

TEST_F(CheckJob, ACrashIsChargedToItsCheckAlone) {
  auto records = run(22, {"L0/lifecycle/once", "L0/open/unknown-id-no-error",
                          "L0/open/100-times"});
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].status, CaseStatus::Pass) << records[0].reason;
  EXPECT_EQ(records[1].status, CaseStatus::Crash) << records[1].reason;
  EXPECT_EQ(records[2].status, CaseStatus::Pass) << records[2].reason;
}

TEST_F(CheckJob, AnUnknownCheckFails) {
  auto records = run(0, {"L1/no/such/check"});
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].status, CaseStatus::Fail);
  EXPECT_NE(records[0].reason.find("L1/no/such/check"), std::string::npos);
}

} // namespace
