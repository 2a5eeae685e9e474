// SPDX-License-Identifier: Apache-2.0
#include "conformance/suite/PluginUnits.h"
#include "conformance/cases/Tags.h"
#include "conformance/plugin/Check.h"

#include <gtest/gtest.h>
#include <set>

using namespace backplane;
using namespace backplane::conformance;

namespace {

std::vector<Unit> unitsAt(Depth depth) {
  std::vector<Unit> units;
  generateChecks({.depth = depth},
                 [&](Unit unit) { units.push_back(std::move(unit)); });
  return units;
}

TEST(CheckUnits, HoldEveryCheckOnce) {
  std::set<std::string> cases, ids;
  for (const Unit &unit : unitsAt(Depth::Full)) {
    EXPECT_TRUE(ids.insert(unit.id).second) << unit.id;
    EXPECT_TRUE(unit.check);
    for (const Case &testCase : unit.cases) {
      EXPECT_TRUE(cases.insert(testCase.id).second) << testCase.id;
      EXPECT_EQ(testCase.id.rfind(unit.id + "/", 0), 0u) << testCase.id;
    }
  }
  EXPECT_EQ(cases.size(), checks::allChecks().size());
  EXPECT_GT(cases.size(), 500u);
}

TEST(CheckUnits, HaveKnownTagsAndModels) {
  for (const Unit &unit : unitsAt(Depth::Full))
    for (const std::string &tag : unit.tags)
      EXPECT_TRUE(isTag(tag)) << unit.id << ": " << tag;
  for (const checks::Check &check : checks::allChecks()) {
    EXPECT_FALSE(check.what.empty()) << check.id;
    if (!check.graph.empty()) {
      auto model = checkModel(check.graph);
      ASSERT_TRUE(model) << check.graph;
      EXPECT_EQ(model->graph.verify().message(), "") << check.graph;
    }
  }
}

TEST(CheckUnits, AreFewerInASmokeRun) {
  size_t smoke = 0, all = 0;
  for (const Unit &unit : unitsAt(Depth::Smoke)) {
    smoke += unit.cases.size();
    for (const Case &testCase : unit.cases)
      EXPECT_EQ(testCase.depth, Depth::Smoke) << testCase.id;
  }
  for (const Unit &unit : unitsAt(Depth::Full))
    all += unit.cases.size();
  EXPECT_GT(smoke, 50u);
  EXPECT_LT(smoke, all / 3);
}

} // namespace
