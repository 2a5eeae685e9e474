// SPDX-License-Identifier: Apache-2.0
#include "sdk/schedule/MemoryPlan.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace backplane;

namespace {

/// The first pair that shares a byte while both are alive, unless in place.
std::string conflict(const std::vector<Transient> &items,
                     const MemoryPlan &plan) {
  for (size_t a = 0; a < items.size(); ++a)
    for (size_t b = 0; b < items.size(); ++b) {
      if (a == b || items[a].bytes == 0 || items[b].bytes == 0)
        continue;
      bool alive =
          items[a].first <= items[b].last && items[b].first <= items[a].last;
      bool overlap = plan.offsets[a] < plan.offsets[b] + items[b].bytes &&
                     plan.offsets[b] < plan.offsets[a] + items[a].bytes;
      auto takes = [&](size_t x, size_t y) {
        return items[x].reuse == int64_t(y) &&
               items[y].last == items[x].first &&
               plan.offsets[x] == plan.offsets[y];
      };
      if (alive && overlap && !takes(a, b) && !takes(b, a))
        return std::to_string(a) + " and " + std::to_string(b);
    }
  return "";
}

std::vector<Transient> randomItems(std::mt19937 &random, bool hints) {
  std::vector<Transient> items(1 + random() % 60);
  for (Transient &t : items) {
    t.bytes = random() % 8 ? random() % 5000 : 0;
    t.first = random() % 50;
    t.last = t.first + random() % (random() % 4 ? 4 : 40);
  }
  for (size_t i = 0; hints && i < items.size(); ++i)
    if (random() % 2) {
      size_t other = random() % items.size();
      items[i].reuse = int32_t(other);
      uint32_t length = items[i].last - items[i].first;
      items[i].first = items[other].last;
      items[i].last = items[i].first + length;
    }
  return items;
}

void expectSound(const std::vector<Transient> &items, const MemoryPlan &plan) {
  ASSERT_EQ(plan.offsets.size(), items.size());
  EXPECT_EQ(conflict(items, plan), "");
  for (size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % planAlignment, 0);
    EXPECT_GE(plan.offsets[i], 0);
    EXPECT_LE(plan.offsets[i] + items[i].bytes, plan.arenaBytes);
  }
}

/// The most bytes alive at any one time: without hints no plan is smaller.
int64_t peakBytes(const std::vector<Transient> &transients) {
  std::map<uint64_t, int64_t> changes;
  for (const Transient &t : transients) {
    int64_t bytes =
        (t.bytes + planAlignment - 1) / planAlignment * planAlignment;
    changes[t.first] += bytes;
    changes[uint64_t(t.last) + 1] -= bytes;
  }
  int64_t alive = 0, peak = 0;
  for (auto [time, change] : changes)
    peak = std::max(peak, alive += change);
  return peak;
}

TEST(MemoryPlan, NeverOverlapsWhatIsAliveTogether) {
  std::mt19937 random(1);
  double ratios = 0, worst = 1;
  int count = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<Transient> items = randomItems(random, false);
    auto plan = planMemory(items);
    ASSERT_TRUE(plan.ok()) << plan.message();
    expectSound(items, *plan);
    int64_t peak = peakBytes(items);
    EXPECT_GE(plan->arenaBytes, peak);
    if (peak == 0)
      continue;
    double ratio = double(plan->arenaBytes) / double(peak);
    worst = std::max(worst, ratio);
    ratios += ratio;
    ++count;
  }
  RecordProperty("mean_ratio", std::to_string(ratios / count));
  printf("arena over lower bound: mean %.4f, worst %.4f\n", ratios / count,
         worst);
  EXPECT_LT(ratios / count, 1.05);
}

TEST(MemoryPlan, IsSoundWhereMoreAreAliveThanAreSearched) {
  std::mt19937 random(5);
  std::vector<Transient> items(3000);
  for (Transient &t : items) {
    t.bytes = 1 + random() % 5000;
    t.first = random() % 100;
    t.last = t.first + random() % 4000;
  }
  auto plan = planMemory(items);
  ASSERT_TRUE(plan.ok()) << plan.message();
  expectSound(items, *plan);
  // Each could lie behind all others.
  EXPECT_LT(plan->arenaBytes, 2 * peakBytes(items));
}

TEST(MemoryPlan, HintsStaySound) {
  std::mt19937 random(2);
  for (int round = 0; round < 400; ++round) {
    std::vector<Transient> items = randomItems(random, true);
    auto plan = planMemory(items);
    ASSERT_TRUE(plan.ok()) << plan.message();
    expectSound(items, *plan);
  }
}

TEST(MemoryPlan, ResultTakesThePlaceOfADyingOperand) {
  std::vector<Transient> chain = {
      {1000, 0, 1}, {1000, 1, 2, 0}, {900, 2, 3, 1}};
  auto plan = planMemory(chain);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->arenaBytes, 1024);
  chain[1].reuse = chain[2].reuse = -1;
  EXPECT_EQ(planMemory(chain)->arenaBytes, 2048);
}

TEST(MemoryPlan, IgnoresAHintWhoseOperandLivesOn) {
  std::vector<Transient> items = {{64, 0, 2}, {64, 1, 3, 0}};
  EXPECT_EQ(planMemory(items)->arenaBytes, 128);
}

TEST(MemoryPlan, IsTheSameEachTime) {
  std::mt19937 random(3);
  std::vector<Transient> items = randomItems(random, true);
  EXPECT_EQ(planMemory(items)->offsets, planMemory(items)->offsets);
}

TEST(MemoryPlan, RefusesWhatItCannotPlan) {
  auto message = [](std::vector<Transient> items) {
    auto plan = planMemory(items);
    return plan.ok() ? std::string() : plan.message();
  };
  EXPECT_EQ(message({{64, 3, 2}}),
            "transient 0 is used last at 2, before its first use");
  EXPECT_EQ(message({{64, 0, 1, 7}}), "transient 0 names transient 7, of 1");
  EXPECT_NE(message({{-1, 0, 1}}), "");
  EXPECT_NE(message({{INT64_MAX, 0, 1}}), "");
  int64_t half = int64_t(1) << 61;
  EXPECT_NE(message({{half, 0, 1}, {half, 0, 1}, {half, 0, 1}}), "");
  EXPECT_EQ(planMemory({})->arenaBytes, 0);
}

} // namespace
