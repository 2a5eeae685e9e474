// SPDX-License-Identifier: Apache-2.0
//
// docs/reference/stages.md has the table of stages as it is in the code.
#include "sdk/compiler/StageTable.h"

#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

using namespace backplane;

static const char *scopeOf(const Stage &stage) {
  switch (stage.pipelines) {
  case PipelineScope::None:
    return "";
  case PipelineScope::Program:
    return "program";
  case PipelineScope::Dispatch:
    return "dispatch";
  }
  return "";
}

static std::string rowOf(const Stage &stage) {
  std::ostringstream row;
  row << "| `" << stage.name << "` | " << stage.code << " | " << stage.entry
      << " | " << stage.exit << " | " << scopeOf(stage) << " |\n";
  return row.str();
}

TEST(StageTable, IsThatOfTheReference) {
  std::string expected =
      "| stage | pass or function | entry | exit | pipelines |\n"
      "|---|---|---|---|---|\n";
  for (const Stage *stage : stages)
    expected += rowOf(*stage);
  std::ifstream file(BP_STAGES_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find("\n\n" + expected + "\n"), std::string::npos)
      << "docs/reference/stages.md must have this table:\n"
      << expected;
}

TEST(StageTable, NamesEachStageOnce) {
  std::set<std::string_view> names;
  for (const Stage *stage : stages)
    EXPECT_TRUE(names.insert(stage->name).second) << stage->name;
}
