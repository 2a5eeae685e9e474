// SPDX-License-Identifier: Apache-2.0
#include "conformance/runner/Mustpass.h"

#include <gtest/gtest.h>

using namespace backplane;
using namespace backplane::conformance;

namespace {

const std::vector<std::string> ids = {
    "L3/add/f32/n/special", "L3/add/f32/n/uniform-n=7", "L3/exp/f32/n/special",
    "L3/neg/f32/n/special", "L3/neg/f32/n/uniform-n=7"};

TEST(Mustpass, GroupsUnitsAndReadsThemBack) {
  std::string text = mustpassText(ids);
  EXPECT_EQ(text, "[special]\nL3/exp/f32/n\n"
                  "[special uniform-n=7]\nL3/add/f32/n\nL3/neg/f32/n\n");
  auto read = parseMustpass("# a comment\n\n" + text);
  ASSERT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(*read, ids);
}

TEST(Mustpass, HashIsThatOfSortedLines) {
  EXPECT_EQ(hashOfIds({"b", "a"}), hashOfIds({"a", "b"}));
  // printf 'a\nb\n' | sha256sum
  EXPECT_EQ(hashOfIds({"b", "a"}), "911169ddaaf146aff539f58c26c489af"
                                   "3b892dff0fe283c1c264c65ae5aa59a2");
}

TEST(Mustpass, RefusesWhatIsNoList) {
  for (const char *bad : {"L3/a\n", "[a b\nL3/a\n", "[]\nL3/a\n",
                          "[a]\nL3/a\nL3/a\n", "[a a]\nL3/a\n"})
    EXPECT_FALSE(parseMustpass(bad).ok()) << bad;
  EXPECT_TRUE(parseMustpass("").ok());
}

} // namespace
