// SPDX-License-Identifier: Apache-2.0
//
// Runs on the mini driver with devices that have all that a launch can ask for:
// what an entry and a dispatch say reaches the driver, whole, or is refused.
#include "PluginFolder.h"
#include "hal/core/Device.h"
#include "hal/core/Registry.h"

#include <gtest/gtest.h>

using namespace backplane;

namespace {

using Numbers = std::vector<int64_t>;

struct LaunchTest : testing::Test {
  void SetUp() override {
    folder.addDriver(BP_LAUNCHING_PLUGIN, "mini");
    registry = Registry::create(folder.options(), nullptr);
    auto opened = registry->device("mini://plain");
    ASSERT_TRUE(opened.ok()) << opened.message();
    device = *opened;
    queue = *device->createQueue();
    out = *device->allocate(80);
  }

  static Entry echo() {
    return {.name = "echo",
            .bindingAccess = {2},
            .subgroupSize = 32,
            .parameterCount = 3,
            .driverData = {1, 2, 250}};
  }
  Dispatch dispatch(Binding binding) {
    Dispatch dispatch;
    auto loaded = device->load("mini", {}, {echo()});
    EXPECT_TRUE(loaded.ok()) << loaded.message();
    dispatch.executable = *loaded;
    dispatch.grid = {8, 3, 1};
    dispatch.bindings = {std::move(binding)};
    dispatch.parameters = {int64_t(1) << 62, -5, 7};
    dispatch.cluster = {4, 1, 1};
    dispatch.sharedBytes = 1024;
    return dispatch;
  }
  Numbers echoed() {
    Numbers numbers(10);
    Status status = out->read(
        0, {reinterpret_cast<uint8_t *>(numbers.data()), numbers.size() * 8});
    EXPECT_TRUE(status.ok()) << status.message();
    return numbers;
  }
  std::string refusal(const Dispatch &dispatch) {
    return queue->run(std::vector<Command>{dispatch}).message();
  }

  const Numbers expected = {3, 253, 32, 1024, 4, 1, 1, int64_t(1) << 62, -5, 7};
  PluginFolder folder;
  std::shared_ptr<Registry> registry;
  std::shared_ptr<Device> device;
  std::shared_ptr<Queue> queue;
  std::shared_ptr<Buffer> out;
};

void expectIn(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(LaunchTest, ReachesTheDriver) {
  EXPECT_EQ(refusal(dispatch({out, 0, 80})), "");
  EXPECT_EQ(echoed(), expected);
}

TEST_F(LaunchTest, IsReplayed) {
  auto recorded =
      device->record(std::vector<Command>{dispatch({.length = 80, .slot = 0})});
  ASSERT_TRUE(recorded.ok()) << recorded.message();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(out->write(0, std::vector<uint8_t>(80, 9)).ok());
    SlotBinding table[] = {{out.get()}};
    ASSERT_TRUE(queue->run(**recorded, table).ok());
    EXPECT_EQ(echoed(), expected);
  }
}

TEST_F(LaunchTest, IsRefusedBeyondTheLimitsOfTheDevice) {
  Dispatch good = dispatch({out, 0, 80}), bad = good;
  bad.sharedBytes = 1025;
  expectIn(refusal(bad), "1025 bytes of dynamic shared memory, the device has "
                         "at most 1024");
  bad = good;
  bad.cluster = {8, 3, 1};
  expectIn(refusal(bad), "a cluster of 8 by 3 by 1 work-groups, the device has "
                         "clusters of at most 8");
  bad.cluster = {1, 2, 1};
  expectIn(refusal(bad), "grid size 3 on axis 1 is no multiple of its "
                         "cluster's 2");
  bad.cluster = {1, 0, 1};
  expectIn(refusal(bad), "a cluster of 1 by 0 by 1");
  bad = good;
  bad.parameters.pop_back();
  expectIn(refusal(bad), "takes 3 parameters, given 2");
}

TEST_F(LaunchTest, NeedsEntriesThatTheDriverTakes) {
  auto refusal = [&](void (*change)(Entry &)) {
    Entry entry = echo();
    change(entry);
    return device->load("mini", {}, {entry}).message();
  };
  expectIn(refusal([](Entry &e) { e.parameterCount = 4; }),
           "4 parameters, the device has at most 3");
  expectIn(refusal([](Entry &e) { e.driverData.resize(17); }),
           "17 bytes for its driver, which reads at most 16");
  for (uint32_t size : {16u, 40u, 3u, 0x80000000u}) {
    Entry entry = echo();
    entry.subgroupSize = size;
    expectIn(device->load("mini", {}, {entry}).message(),
             "subgroups of " + std::to_string(size) +
                 ", the device's sizes are 8 and 32");
  }
}

} // namespace
