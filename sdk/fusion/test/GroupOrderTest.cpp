// SPDX-License-Identifier: Apache-2.0
#include "sdk/fusion/GroupOrder.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

using bp::GroupOrder;

namespace {

/// The same by searching everything.
class PlainGraph {
public:
  void add(const std::vector<unsigned> &sources) {
    group_.push_back(unsigned(group_.size()));
    for (unsigned source : sources)
      edges_.emplace_back(source, group_.back());
  }
  /// Whether a path leads from one to the other through a third.
  bool hasDetour(unsigned a, unsigned b) const {
    return leads(group_[a], group_[b]) || leads(group_[b], group_[a]);
  }
  void join(unsigned a, unsigned b) {
    unsigned gone = group_[b];
    for (unsigned &group : group_)
      if (group == gone)
        group = group_[a];
  }
  bool isSame(unsigned a, unsigned b) const { return group_[a] == group_[b]; }

private:
  bool leads(unsigned from, unsigned to) const {
    std::set<unsigned> seen;
    std::vector<unsigned> work;
    for (auto [source, target] : edges_)
      if (group_[source] == from && group_[target] != to &&
          group_[target] != from)
        work.push_back(group_[target]);
    while (!work.empty()) {
      unsigned node = work.back();
      work.pop_back();
      if (node == to)
        return true;
      if (!seen.insert(node).second)
        continue;
      for (auto [source, target] : edges_)
        if (group_[source] == node)
          work.push_back(group_[target]);
    }
    return false;
  }

  std::vector<std::pair<unsigned, unsigned>> edges_;
  std::vector<unsigned> group_;
};

/// Adds nodes with random sources and joins random pairs, in both.
void compareRandom(unsigned seed) {
  std::mt19937 random(seed);
  GroupOrder order;
  PlainGraph plain;
  std::vector<GroupOrder::Node> nodes;
  for (unsigned i = 0; i < 40; ++i) {
    std::vector<unsigned> sources;
    llvm::SmallVector<GroupOrder::Node> sourceNodes;
    for (unsigned k = i ? random() % 4 : 0; k > 0; --k) {
      sources.push_back(unsigned(random() % i));
      sourceNodes.push_back(nodes[sources.back()]);
    }
    nodes.push_back(order.add(sourceNodes));
    plain.add(sources);
    for (unsigned k = random() % 3; k > 0; --k) {
      unsigned a = unsigned(random() % nodes.size());
      unsigned b = unsigned(random() % nodes.size());
      if (plain.isSame(a, b))
        continue;
      auto join = order.tryJoin(nodes[a], nodes[b]);
      ASSERT_EQ(!join, plain.hasDetour(a, b)) << "seed " << seed;
      if (!join)
        continue;
      order.join(std::move(*join));
      plain.join(a, b);
      ASSERT_TRUE(order.isSame(nodes[a], nodes[b]));
    }
  }
}

TEST(GroupOrder, AgreesWithASearchOfEverything) {
  for (unsigned seed = 0; seed < 1000; ++seed)
    compareRandom(seed);
}

TEST(GroupOrder, FindsRoomInOnePlaceAgainAndAgain) {
  // Each node of `behind` is moved before the same pair in turn.
  GroupOrder order;
  auto first = order.add({});
  uint64_t steps = 0;
  for (unsigned i = 0; i < 10000; ++i) {
    auto between = order.add({});
    auto second = order.add({between});
    auto join = order.tryJoin(first, second);
    ASSERT_TRUE(join);
    order.join(std::move(*join));
    if (i == 999)
      steps = order.steps();
  }
  EXPECT_LT(order.steps(), 20 * steps);
}

TEST(GroupOrder, GivesUpWhereMuchLiesBetween) {
  GroupOrder order;
  auto first = order.add({});
  auto last = first;
  for (unsigned i = 0; i < 10 * GroupOrder::maxSteps; ++i)
    last = order.add({last});
  uint64_t before = order.steps();
  EXPECT_FALSE(order.tryJoin(first, last));
  EXPECT_LE(order.steps() - before, GroupOrder::maxSteps);
}

} // namespace
