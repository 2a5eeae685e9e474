// SPDX-License-Identifier: Apache-2.0
#include "conformance/runner/Mustpass.h"
#include "conformance/report/StrictJson.h"
#include "conformance/report/SuiteVersion.h"
#include "conformance/runner/Suite.h"

#include <algorithm>

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

/// What a list of this minor version promises is there. Lists are made with
/// `bp conformance mustpass DEPTH --out FILE`, which only extends them.
void expectAllOf(const char *depth, Depth selected) {
  const std::string path = std::string(BP_MUSTPASS) + "/" +
                           std::string(suiteMinor) + "/" + depth + ".txt";
  auto text = readTextFile(path, 64 << 20);
  ASSERT_TRUE(text.ok()) << text.message();
  auto ids = parseMustpass(*text);
  ASSERT_TRUE(ids.ok()) << ids.message();
  EXPECT_GT(ids->size(), 1000u);
  EXPECT_NE(text->find(hashOfIds(*ids)), std::string::npos)
      << path << " does not have the hash that it names";
  SuiteOptions options;
  options.selection.depth = selected;
  auto plan = planSuite(options);
  ASSERT_TRUE(plan.ok()) << plan.message();
  std::ranges::sort(plan->mustpass);
  std::vector<std::string> vanished;
  std::ranges::set_difference(*ids, plan->mustpass,
                              std::back_inserter(vanished));
  EXPECT_TRUE(vanished.empty())
      << vanished.size() << " cases have vanished, the first is "
      << (vanished.empty() ? "" : vanished.front());
}

TEST(Mustpass, ListsOnlyGrow) {
  expectAllOf("smoke", Depth::Smoke);
  expectAllOf("standard", Depth::Standard);
}

} // namespace
