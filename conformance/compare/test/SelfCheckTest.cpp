// SPDX-License-Identifier: Apache-2.0
//
// The self-checks pass the comparator and kill each kind of broken one
// (mutants 52 to 55).
#include "conformance/compare/SelfCheck.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace backplane::conformance {
namespace {

std::vector<std::string> failedWith(const Weakness &weakness) {
  return failedSelfChecks([&](const Expected &expected, const Tensor &got,
                              const Numerics &numerics) {
    return compareWeakly(expected, got, numerics, weakness);
  });
}

bool has(const std::vector<std::string> &names, const char *name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(SelfCheck, PassesTheComparator) {
  EXPECT_TRUE(failedSelfChecks(compare).empty());
  EXPECT_TRUE(checkComparator().ok());
}

TEST(SelfCheck, KillsNanTautology) {
  auto failed = failedWith({.comparesExpectedWithItself = true});
  EXPECT_TRUE(has(failed, "number-for-nan"));
}

TEST(SelfCheck, KillsWideTolerances) {
  for (double factor : {1.1, 2.0, 1000.0})
    EXPECT_FALSE(failedWith({.toleranceFactor = factor}).empty()) << factor;
}

TEST(SelfCheck, KillsComparingOnlyTheFirst) {
  for (size_t count : {size_t(0), size_t(1), size_t(64), size_t(4098)})
    EXPECT_TRUE(has(failedWith({.onlyFirst = count}), "one-wrong-element"))
        << count;
}

TEST(SelfCheck, KillsPassingWhatIsSkipped) {
  auto failed = failedWith({.passesWhatItSkips = true});
  EXPECT_TRUE(has(failed, "missing-output"));
  EXPECT_TRUE(has(failed, "other-dims"));
}

TEST(SelfCheck, NamesWhatIsBroken) {
  Status status =
      checkComparator([](const Expected &, const Tensor &, const Numerics &) {
        Verdict verdict;
        verdict.pass = true;
        return verdict;
      });
  EXPECT_EQ(status.code(), BP_STATUS_INTERNAL);
  EXPECT_NE(status.message().find("twice-the-limit"), std::string::npos);
}

} // namespace
} // namespace backplane::conformance
