// SPDX-License-Identifier: Apache-2.0
#include "sdk/support/Glob.h"
#include "sdk/support/NearestName.h"

#include <gtest/gtest.h>

namespace backplane {
namespace {

TEST(Glob, Matches) {
  EXPECT_TRUE(matchesGlob("L3/*/f32/*", "L3/exp/f32/n/special-n=54"));
  EXPECT_TRUE(matchesGlob("*", ""));
  EXPECT_TRUE(matchesGlob("a**", "a"));
  EXPECT_TRUE(matchesGlob("a?[b-d][!x]*z", "a-cyz"));
  EXPECT_TRUE(matchesGlob("[", "["));
  EXPECT_TRUE(matchesGlob("[]]", "]"));
  EXPECT_FALSE(matchesGlob("", "a"));
  EXPECT_FALSE(matchesGlob("a*b", "a-bc"));
  EXPECT_FALSE(matchesGlob("[!x]", "x"));
  EXPECT_FALSE(matchesGlob("a?", "a"));
}

TEST(Glob, TakesNoLongerThanTheProductOfLengths) {
  std::string glob, text(4096, 'a');
  for (int i = 0; i < 100; ++i)
    glob += "a*";
  EXPECT_FALSE(matchesGlob(glob + "b", text));
}

TEST(NearestName, DiffersInFewLettersOrIsNone) {
  EXPECT_EQ(nearestName("vulcan", {"host", "vulkan"}), "vulkan");
  EXPECT_EQ(nearestName("hots", {"host", "vulkan"}), "host");
  EXPECT_EQ(nearestName("tpu", {"vulkan"}), "");
  EXPECT_EQ(nearestName("tpu", {}), "");
}

} // namespace
} // namespace backplane
