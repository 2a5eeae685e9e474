// SPDX-License-Identifier: Apache-2.0
#include "conformance/report/Profiles.h"

#include "sdk/graph/OpTable.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace backplane;
using namespace backplane::conformance;

namespace {

TEST(Profiles, HaveOpsOfTheTable) {
  for (const Profile &profile : profiles())
    for (const std::string &op : profile.ops) {
      EXPECT_TRUE(std::ranges::count(opTable(), op, &OpSpec::name))
          << profile.name << ": " << op;
      EXPECT_FALSE(isStructural(op)) << profile.name << ": " << op;
    }
}

/// A composite that a target does not claim is its primitives.
TEST(Profiles, AdmitGraphsOfTheirOpsAndDTypes) {
  Graph graph;
  ValueId x = graph.addInput("x", {DType::F32, {Dim(4)}});
  ValueId y = graph.add("tanh", {x})->at(0);
  graph.addOutput(y, "y");
  const DType f32[] = {DType::F32}, f64[] = {DType::F64};
  EXPECT_TRUE(findProfile("dense")->admits(graph, f32));
  EXPECT_FALSE(findProfile("dense")->admits(graph, f64));
  EXPECT_FALSE(findProfile("int8")->admits(graph, f32));
}

TEST(Profiles, AreThoseOfTheReference) {
  std::ifstream in(BP_PROFILES_PAGE);
  std::stringstream page;
  page << in.rdbuf();
  EXPECT_NE(page.str().find(profilesText()), std::string::npos)
      << "write the output of bp conformance --profiles into " BP_PROFILES_PAGE;
}

} // namespace
