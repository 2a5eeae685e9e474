// SPDX-License-Identifier: Apache-2.0
//
// Runs on the mini driver, which has none of the optional tables: what works
// here works by the host's fallbacks.
#include "hal/core/Device.h"
#include "PluginFolder.h"
#include "hal/core/Registry.h"

#include <chrono>
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace backplane;

namespace {

using Words = std::vector<uint32_t>;

std::span<const uint8_t> bytes(const Words &words) {
  return {reinterpret_cast<const uint8_t *>(words.data()), words.size() * 4};
}

struct Driver {
  const char *name; ///< of the tests
  const char *library;
  const char *device;
};

struct DeviceTest : testing::TestWithParam<Driver> {
  void SetUp() override {
    folder.addDriver(GetParam().library, "mini");
    registry = Registry::create(folder.options(), nullptr);
    auto opened = registry->device(std::string("mini://") + GetParam().device);
    ASSERT_TRUE(opened.ok()) << opened.message();
    device = *opened;
    queue = *device->createQueue();
    Entry add{.name = "add", .bindingAccess = {1, 2}, .constantCount = 1};
    Entry fail{.name = "fail"};
    auto loaded = device->load("mini", {}, {add, fail});
    ASSERT_TRUE(loaded.ok()) << loaded.message();
    executable = *loaded;
  }

  std::shared_ptr<Buffer> filled(const Words &words) {
    auto buffer = *device->allocate(words.size() * 4);
    EXPECT_TRUE(buffer->write(0, bytes(words)).ok());
    return buffer;
  }
  Words contents(const Buffer &buffer) {
    Words words(buffer.size() / 4);
    EXPECT_TRUE(buffer
                    .read(0, {reinterpret_cast<uint8_t *>(words.data()),
                              words.size() * 4})
                    .ok());
    return words;
  }
  Dispatch add(Binding from, Binding to, uint32_t value) {
    Dispatch dispatch;
    dispatch.executable = executable;
    dispatch.bindings = {std::move(from), std::move(to)};
    dispatch.constants = {value};
    return dispatch;
  }
  Dispatch fail() {
    Dispatch dispatch;
    dispatch.executable = executable;
    dispatch.entry = 1;
    return dispatch;
  }
  void expectRefusal(const Command &command, const std::string &reason) {
    Status status = queue->run({&command, 1});
    EXPECT_FALSE(status.ok()) << reason;
    EXPECT_NE(status.message().find(reason), std::string::npos)
        << status.message();
    auto recorded = device->record({&command, 1});
    EXPECT_FALSE(recorded.ok());
  }

  PluginFolder folder;
  std::shared_ptr<Registry> registry;
  std::shared_ptr<Device> device;
  std::shared_ptr<Queue> queue;
  std::shared_ptr<Executable> executable;
};

TEST_P(DeviceTest, RunsCommandsInOrder) {
  auto a = filled({1, 2, 3, 4}), b = filled({0, 0, 0, 0});
  std::vector<Command> commands = {add({a, 0, 16}, {b, 0, 16}, 10), Barrier{},
                                   Copy{{b, 0, 4}, {a, 12, 4}}, Barrier{},
                                   Fill{{b, 8, 8}, 0xABCD, 2}};
  ASSERT_TRUE(queue->run(commands).ok());
  EXPECT_EQ(contents(*a), (Words{1, 2, 3, 11}));
  EXPECT_EQ(contents(*b), (Words{11, 12, 0xABCDABCD, 0xABCDABCD}));
}

TEST_P(DeviceTest, ReplaysWithOtherSlots) {
  auto a = filled({1, 2, 3, 4}), b = filled(Words(12)), c = filled(Words(4));
  std::vector<Command> commands = {
      add({.length = 16, .slot = 0}, {.offset = 16, .length = 16, .slot = 1},
          5),
      Barrier{},
      Copy{{.offset = 16, .length = 8, .slot = 1}, {.length = 8, .slot = 2}},
      Barrier{}, Fill{{.offset = 8, .length = 8, .slot = 2}, 9, 4}};
  auto recorded = device->record(commands);
  ASSERT_TRUE(recorded.ok()) << recorded.message();
  EXPECT_EQ((*recorded)->slotCount(), 3u);
  EXPECT_EQ((*recorded)->slotExtent(1), 32u);
  for (uint64_t offset : {0, 16}) {
    SlotBinding table[] = {{a.get()}, {b.get(), offset}, {c.get()}};
    ASSERT_TRUE(queue->run(**recorded, table).ok());
    EXPECT_EQ(contents(*b)[4 + offset / 4], 6u);
    EXPECT_EQ(contents(*c), (Words{6, 7, 9, 9}));
  }
}

TEST_P(DeviceTest, TakesManySlots) {
  auto a = filled({1, 2, 3, 4}), b = filled(Words(4));
  Command copy = Copy{{.length = 16, .slot = 0}, {.length = 16, .slot = 99999}};
  auto recorded = device->record({&copy, 1});
  ASSERT_TRUE(recorded.ok()) << recorded.message();
  std::vector<SlotBinding> table(100000, SlotBinding{a.get()});
  table.back() = {b.get()};
  ASSERT_TRUE(queue->run(**recorded, table).ok());
  EXPECT_EQ(contents(*b), (Words{1, 2, 3, 4}));
}

TEST_P(DeviceTest, ChecksTheTable) {
  auto a = filled(Words(4)), b = filled(Words(8));
  Command copy = Copy{{.length = 16, .slot = 0}, {.length = 16, .slot = 1}};
  auto recorded = *device->record({&copy, 1});
  auto message = [&](std::vector<SlotBinding> table) {
    return queue->run(*recorded, table).message();
  };
  EXPECT_EQ(message({{a.get()}, {b.get()}}), "");
  EXPECT_NE(message({{a.get()}}).find("use 2 slots, the table has 1"),
            std::string::npos);
  EXPECT_NE(message({{a.get()}, {nullptr}}).find("slot 1: has no buffer"),
            std::string::npos);
  EXPECT_NE(message({{a.get()}, {b.get(), 32}}).find("has 0 bytes"),
            std::string::npos);
  EXPECT_NE(message({{a.get()}, {b.get(), 33}}).find("outside"),
            std::string::npos);
  EXPECT_NE(message({{a.get()}, {b.get(), ~uint64_t(0), 16}}).find("outside"),
            std::string::npos);
  EXPECT_NE(message({{a.get()}, {b.get(), 8}}).find("not a multiple of 16"),
            std::string::npos);
  EXPECT_NE(message({{b.get()}, {b.get()}}).find("overlaps itself"),
            std::string::npos);
  EXPECT_EQ(message({{b.get()}, {b.get(), 16}}), "");
}

TEST_P(DeviceTest, RefusesBadRanges) {
  auto a = filled(Words(8)), b = filled(Words(8));
  auto foreign = *registry->device("mini://waiting") == device
                     ? *registry->device("mini://plain")
                     : *registry->device("mini://waiting");
  auto other = *foreign->allocate(64);
  expectRefusal(add({a, 0, 33}, {b, 0, 32}, 1), "add, binding 0: 33 bytes");
  expectRefusal(add({a, 16, ~uint64_t(0)}, {b, 0, 32}, 1), "binding 0");
  expectRefusal(add({a, 0, 16}, {b, 8, 16}, 1), "not a multiple of 16");
  expectRefusal(add({a, 0, 16}, {other, 0, 16}, 1), "belongs to device mini");
  expectRefusal(Copy{{a, 0, 16}, {b, 0, 8}}, "copy of 16 bytes to 8");
  expectRefusal(Copy{{a, 0, 16}, {a, 8, 16}}, "overlap");
  expectRefusal(Copy{{a, 24, 16}, {b, 0, 16}}, "copy, source");
  expectRefusal(
      Copy{{.length = 8, .slot = 3}, {.offset = 4, .length = 8, .slot = 3}},
      "slot");
  expectRefusal(Fill{{a, 0, 6}, 1, 4}, "not multiples");
  expectRefusal(Fill{{a, 0, 6}, 1, 3}, "pattern of 3 bytes");
  expectRefusal(Fill{{.length = 8, .slot = 1u << 20}, 1, 1}, "slot 1048576");
}

TEST_P(DeviceTest, RefusesBadDispatches) {
  auto a = filled(Words(8)), b = filled(Words(8));
  Dispatch good = add({a, 0, 16}, {b, 0, 16}, 1), bad = good;
  ASSERT_TRUE(queue->run(std::vector<Command>{good}).ok());
  bad.entry = 7;
  expectRefusal(bad, "entry 7 of an executable with 2 entries");
  bad = good;
  bad.bindings.pop_back();
  expectRefusal(bad, "takes 2 bindings, given 1");
  bad = good;
  bad.constants.push_back(1);
  expectRefusal(bad, "takes 1 constants, given 2");
  bad = good;
  bad.grid = {0, 1, 1};
  expectRefusal(bad, "grid size 0 on axis 0");
  bad.grid = {1001, 1, 1};
  expectRefusal(bad, "not between 1 and 1000");
  bad = good;
  bad.workspaceBytes = uint64_t(1) << 40;
  expectRefusal(bad, "bytes of scratch per worker");
  bad = good;
  bad.executable = nullptr;
  expectRefusal(bad, "without an executable");
}

/// The mini driver has none of it.
TEST_P(DeviceTest, RefusesWhatTheDeviceCannotLaunch) {
  auto a = filled(Words(8)), b = filled(Words(8));
  Dispatch good = add({a, 0, 16}, {b, 0, 16}, 1), bad = good;
  bad.parameters = {1};
  expectRefusal(bad, "takes 0 parameters, given 1");
  bad = good;
  bad.sharedBytes = 16;
  expectRefusal(bad, "16 bytes of dynamic shared memory, the device has at "
                     "most 0");
  bad = good;
  bad.cluster = {1, 2, 1};
  expectRefusal(bad, "a cluster of 1 by 2 by 1 work-groups, the device has "
                     "clusters of at most 1");
  bad.cluster = {65536, 65536, 0};
  expectRefusal(bad, "a cluster of 65536 by 65536 by 0");
  auto refusal = [&](Entry entry) {
    entry.name = "fail";
    return device->load("mini", {}, {entry}).message();
  };
  EXPECT_NE(refusal({.parameterCount = 2})
                .find("2 parameters, the device has at most 0"),
            std::string::npos);
  EXPECT_NE(refusal({.driverData = {1, 2, 3}})
                .find("3 bytes for its driver, which reads at most 0"),
            std::string::npos);
  EXPECT_NE(refusal({.subgroupSize = 32})
                .find("subgroups of 32, the device's sizes are none that can "
                      "be asked for"),
            std::string::npos);
}

TEST_P(DeviceTest, ChecksBuffers) {
  EXPECT_EQ(device->allocate((1 << 20) + 1).code(),
            BP_STATUS_RESOURCE_EXHAUSTED);
  EXPECT_FALSE(device->allocate(8, BP_SPACE_DEVICE, 3).ok());
  EXPECT_FALSE(device->allocate(8, 77).ok());
  auto empty = device->allocate(0);
  ASSERT_TRUE(empty.ok());
  auto buffer = filled(Words(4));
  Words words(4);
  EXPECT_EQ(buffer->write(4, bytes(words)).code(), BP_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(buffer->write(~uint64_t(0), bytes(words)).code(),
            BP_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(buffer->map(), nullptr);
  EXPECT_EQ(device->import(words.data(), 16, false), nullptr);
}

TEST_P(DeviceTest, ChecksExecutables) {
  EXPECT_FALSE(device->load("elf", {}, {}).ok());
  EXPECT_NE(device->load("mini", {}, {{.name = "nothing"}})
                .message()
                .find("no such function"),
            std::string::npos);
  EXPECT_FALSE(device->load("mini", {}, {{.name = ""}}).ok());
  EXPECT_FALSE(
      device->load("mini", {}, {{.name = "add", .constantCount = 5}}).ok());
  Entry many{.name = "add", .bindingAccess = std::vector<uint8_t>(5, 1)};
  EXPECT_FALSE(device->load("mini", {}, {many}).ok());
  EXPECT_FALSE(
      device->load("mini", {}, {{.name = "a", .bindingAccess = {9}}}).ok());
}

TEST_P(DeviceTest, FailedWorkReportsItsReason) {
  std::vector<Command> commands = {fail()};
  Status status = queue->run(commands);
  EXPECT_EQ(status.code(), BP_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(status.message(), "device: op 7: it always fails");
  auto recorded = *device->record(commands);
  EXPECT_EQ(queue->run(*recorded).message(), status.message());
  Pending pending;
  ASSERT_TRUE(queue->start(commands, pending).ok());
  EXPECT_EQ(pending.wait().message(), status.message());
  EXPECT_TRUE(queue->run(std::vector<Command>{Barrier{}}).ok());
}

TEST_P(DeviceTest, StartedWorkRunsInOrder) {
  auto a = filled({0, 0, 0, 0});
  std::vector<Command> increment = {add({a, 0, 16}, {a, 0, 16}, 1)};
  constexpr int count = 50;
  auto recorded = *device->record(increment);
  Pending pending[count];
  for (int i = 0; i < count; ++i)
    ASSERT_TRUE((i % 2 ? queue->start(*recorded, {}, pending[i])
                       : queue->start(increment, pending[i]))
                    .ok());
  ASSERT_TRUE(queue->run(increment).ok());
  EXPECT_EQ(contents(*a), Words(4, count + 1));
  for (Pending &one : pending)
    EXPECT_TRUE(one.wait().ok());
}

TEST_P(DeviceTest, TimelinesOrderQueues) {
  auto a = filled({0}), b = filled({0});
  auto second = *device->createQueue();
  auto timeline = *device->createSemaphore(0);
  std::vector<Command> after = {Copy{{a, 0, 4}, {b, 0, 4}}};
  std::vector<Command> before = {Fill{{a, 0, 4}, 0x55555555, 4}};
  Timepoint one{timeline, 1}, two{timeline, 2}, three{timeline, 3};
  ASSERT_TRUE(second->submit({&two, 1}, {&three, 1}, after).ok());
  ASSERT_TRUE(queue->submit({&one, 1}, {&two, 1}, before).ok());
  EXPECT_EQ(*timeline->query(), 0u);
  EXPECT_EQ(timeline->wait(3, 1000000).code(), BP_STATUS_DEADLINE_EXCEEDED);
  ASSERT_TRUE(timeline->signal(1).ok());
  EXPECT_TRUE(timeline->wait(3).ok());
  EXPECT_EQ(*timeline->query(), 3u);
  EXPECT_EQ(contents(*b), Words{0x55555555});
  EXPECT_FALSE(timeline->signal(3).ok());
}

TEST_P(DeviceTest, FailuresTravelThroughTimelines) {
  auto a = filled({0});
  auto timeline = *device->createSemaphore(0);
  auto last = *device->createSemaphore(0);
  Timepoint one{timeline, 1}, end{last, 1};
  ASSERT_TRUE(queue->submit({}, {&one, 1}, std::vector<Command>{fail()}).ok());
  std::vector<Command> after = {Fill{{a, 0, 4}, 1, 1}};
  ASSERT_TRUE(queue->submit({&one, 1}, {&end, 1}, after).ok());
  Status status = last->wait(1);
  EXPECT_EQ(status.code(), BP_STATUS_OUT_OF_RANGE);
  EXPECT_NE(status.message().find("op 7"), std::string::npos);
  EXPECT_EQ(contents(*a), Words{0});
  EXPECT_FALSE(timeline->query().ok());
}

TEST_P(DeviceTest, DestroyedQueueCancelsWhatWaits) {
  auto timeline = *device->createSemaphore(0);
  auto never = *device->createSemaphore(0);
  Timepoint wait{never, 1}, signal{timeline, 1};
  ASSERT_TRUE(queue->submit({&wait, 1}, {&signal, 1}, {}).ok());
  queue.reset();
  EXPECT_EQ(timeline->wait(1).code(), BP_STATUS_CANCELLED);
}

// The grown one is of a later minor version.
INSTANTIATE_TEST_SUITE_P(
    Mini, DeviceTest,
    testing::Values(Driver{"plain", BP_MINI_PLUGIN, "plain"},
                    Driver{"waiting", BP_MINI_PLUGIN, "waiting"},
                    Driver{"grown", BP_GROWN_MINI_PLUGIN, "plain"}),
    [](const auto &info) { return info.param.name; });

} // namespace
