// SPDX-License-Identifier: Apache-2.0
#include "sdk/partition/Partition.h"
#include "sdk/partition/TargetNames.h"

#include <gtest/gtest.h>

using namespace backplane;

namespace {

const std::vector<std::string> devices = {"npu", "host"};

struct Net {
  std::vector<PartitionNode> nodes;

  /// A node behind the one before it, which gives it `bytes`.
  PartitionNode &add(bool onNpu, bool light = false, double bytes = 1000) {
    PartitionNode node;
    node.name = "op" + std::to_string(nodes.size());
    if (!nodes.empty())
      node.operands.push_back({uint32_t(nodes.size() - 1), bytes});
    node.offers = {{onNpu, onNpu ? "" : "no such op"}, {}};
    node.light = light;
    nodes.push_back(std::move(node));
    return nodes.back();
  }
  std::string places() const {
    auto result = assignDevices(nodes, devices);
    if (!result)
      return result.message();
    std::string text;
    for (const Assignment &assignment : *result)
      text += char('0' + assignment.device);
    return text;
  }
};

TEST(Partition, PrefersTheFirstDevice) {
  Net net;
  for (int i = 0; i < 4; ++i)
    net.add(true, i % 2);
  EXPECT_EQ(net.places(), "0000");
}

TEST(Partition, SendsOnWhatTheFirstLacks) {
  Net net;
  net.add(true);
  net.add(false);
  net.add(true);
  EXPECT_EQ(net.places(), "010");
  auto result = assignDevices(net.nodes, devices);
  EXPECT_EQ((*result)[0].reason, "");
  EXPECT_EQ((*result)[1].reason, "npu: no such op");
}

TEST(Partition, FailsWhereNobodyRunsAnOp) {
  Net net;
  net.add(false).offers[1] = {false, "no f8"};
  EXPECT_EQ(net.places(), "op0 runs on none of the devices: npu: no such op; "
                          "host: no f8");
}

TEST(Partition, LetsLightOpsStayBesideTheirProducers) {
  Net net;
  net.add(true);
  net.add(false);
  net.add(true, true);
  net.add(true, true);
  net.add(false);
  net.add(true);
  EXPECT_EQ(net.places(), "011110");
  auto result = assignDevices(net.nodes, devices);
  EXPECT_EQ((*result)[2].reason,
            "host saves 40200 ns of transfers, with 1 ops beside it");
}

TEST(Partition, KeepsHeavyOpsBetweenIslands) {
  Net net;
  net.add(true);
  net.add(false);
  net.add(true);
  net.add(false);
  net.add(true);
  EXPECT_EQ(net.places(), "01010");
}

TEST(Partition, WeighsClaimedCostsAgainstTransfers) {
  Net net;
  for (int i = 0; i < 3; ++i)
    net.add(true, false, 1e6);
  auto price = [&](int node, double npu, double host) {
    net.nodes[size_t(node)].offers[0].costNs = npu;
    net.nodes[size_t(node)].offers[1].costNs = host;
  };
  price(1, 1e6, 5e5); // saves 500 us, two transfers take 240 us
  EXPECT_EQ(net.places(), "010");
  price(1, 1e6, 8e5); // saves 200 us
  EXPECT_EQ(net.places(), "000");
  for (int i = 0; i < 3; ++i)
    price(i, 1e5, 9e4); // too little each, and no transfers together
  EXPECT_EQ(net.places(), "111");
}

TEST(Partition, CountsAValueOncePerDevice) {
  Net net;
  net.add(true, false);
  net.add(true, true, 1e6).operands = {{0, 1e6}};
  net.add(false).operands = {{1, 10}};
  net.add(false).operands = {{1, 10}};
  net.add(false).operands = {{1, 10}};
  // What node 1 gives moves once and is small; what it takes is large.
  EXPECT_EQ(net.places(), "00111");
}

TEST(TargetNames, KnowNamesThatHoldAPlus) {
  auto split = [](std::string_view joined) {
    std::string text;
    for (const std::string &name :
         splitTargets(joined, [](std::string_view name) {
           return name == "host" || name == "arm" || name == "arm+sve" ||
                  name == "npu";
         }))
      text += "[" + name + "]";
    return text;
  };
  EXPECT_EQ(split("host"), "[host]");
  EXPECT_EQ(split("npu+host"), "[npu][host]");
  EXPECT_EQ(split("arm+sve"), "[arm+sve]");
  EXPECT_EQ(split("npu+arm+sve+host"), "[npu][arm+sve][host]");
  EXPECT_EQ(split("arm+host"), "[arm][host]");
  EXPECT_EQ(split("arm+npu2"), "");
  EXPECT_EQ(split("host+"), "");
  EXPECT_EQ(split("+host"), "");
  EXPECT_EQ(split(""), "");
  EXPECT_EQ(split(std::string(5000, '+')), "");
}

} // namespace
