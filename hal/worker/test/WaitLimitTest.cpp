// SPDX-License-Identifier: Apache-2.0
#include "hal/worker/WaitLimit.h"

#include <ctime>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace backplane::worker;
using namespace std::chrono_literals;

namespace {

TEST(WaitLimit, EndsAtOnceForAWorkerThatWaits) {
  WaitLimit limit(60s);
  EXPECT_EQ(limit.more(60s, 599ms), 0ms);
}

TEST(WaitLimit, EndsAtOnceForOneThatHadAProcessor) {
  WaitLimit limit(60s);
  EXPECT_EQ(limit.more(60s, 60s), 0ms);
}

TEST(WaitLimit, GivesTheRestToOneThatComputes) {
  WaitLimit limit(60s);
  EXPECT_EQ(limit.more(60s, 10s), 50s);
  EXPECT_EQ(limit.more(50s, 40s), 20s);
  EXPECT_EQ(limit.more(20s, 60s), 0ms);
}

TEST(WaitLimit, EndsWhenTheWorkerNoLongerComputes) {
  WaitLimit limit(60s);
  EXPECT_EQ(limit.more(60s, 10s), 50s);
  EXPECT_EQ(limit.more(50s, 10s), 0ms);
}

TEST(WaitLimit, EndsAfterTenTimesTheLimit) {
  WaitLimit limit(1s);
  auto wait = 1000ms, total = 0ms, used = 0ms;
  for (; wait > 0ms; wait = limit.more(wait, used)) {
    total += wait;
    used += wait / 50;
  }
  EXPECT_EQ(total, 10s);
}

TEST(WaitLimit, ProcessorTimeOfAProcess) {
  const auto before = processorTime(getpid());
  ASSERT_TRUE(before);
  const std::clock_t start = std::clock();
  while (std::clock() - start < CLOCKS_PER_SEC / 5) {
  }
  const auto after = processorTime(getpid());
  ASSERT_TRUE(after);
  EXPECT_GE(*after - *before, 150ms);
  EXPECT_FALSE(processorTime(-1));
}

} // namespace
