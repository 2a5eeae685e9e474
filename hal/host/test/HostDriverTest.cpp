// SPDX-License-Identifier: Apache-2.0
//
// Loads the host driver as any program does, through the registry, and runs
// kernels that a C compiler made.
#include "hal/core/Registry.h"
#include "hal/core/Tables.h"

#include <cstddef>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <random>
#include <sys/mman.h>

using namespace backplane;

namespace {

std::vector<uint8_t> readFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::vector<Entry> entries = {
    {.name = "empty"},
    {.name = "scale", .bindingAccess = {1, 2}, .constantCount = 2},
    {.name = "number", .bindingAccess = {2}, .workspaceBytes = 400},
    {.name = "fails", .constantCount = 1},
    {.name = "affine", .bindingAccess = {2}, .parameterCount = 2}};

struct HostDriver : testing::TestWithParam<uint32_t> {
  void SetUp() override {
    LoaderOptions options;
    options.pluginFiles = {BP_HOST_MANIFEST};
    options.threads = GetParam();
    registry = Registry::create(options, nullptr);
    auto opened = registry->device("host");
    ASSERT_TRUE(opened.ok()) << opened.message();
    device = *opened;
    format = std::string(view(device->info().c().formats[0]));
    queue = *device->createQueue();
    image = readFile(BP_KERNELS);
    auto loaded = device->load(format, image, entries);
    ASSERT_TRUE(loaded.ok()) << loaded.message();
    executable = *loaded;
  }

  std::shared_ptr<Buffer> words(size_t count) {
    auto buffer = *device->allocate(count * 4);
    std::iota(at(*buffer), at(*buffer) + count, 0);
    return buffer;
  }
  static uint32_t *at(Buffer &buffer) {
    return reinterpret_cast<uint32_t *>(buffer.map());
  }
  Dispatch scale(Binding in, Binding out, uint32_t factor, uint32_t plus) {
    Dispatch dispatch{.executable = executable, .entry = 1};
    dispatch.grid[0] = uint32_t(in.length / 4);
    dispatch.bindings = {in, out};
    dispatch.constants = {factor, plus};
    return dispatch;
  }

  std::shared_ptr<Registry> registry;
  std::shared_ptr<Device> device;
  std::shared_ptr<Queue> queue;
  std::shared_ptr<Executable> executable;
  std::vector<uint8_t> image;
  std::string format;
};

TEST_P(HostDriver, DescribesTheCpu) {
  const DeviceInfo &info = device->info();
  EXPECT_EQ(device->uri(), "host://cpu");
  EXPECT_EQ(info.c().worker_count, GetParam());
  for (const std::string &feature : registry->host().cpu().features())
    EXPECT_TRUE(info.hasFeature(feature)) << feature;
  const bp_host_cpu_t &cpu = registry->host().cpu().c();
  const Property::Value *cache =
      findProperty(info.properties(), "cache_bytes.2");
  ASSERT_EQ(cache != nullptr, cpu.l2_bytes != 0);
  if (cache)
    EXPECT_EQ(std::get<int64_t>(*cache), int64_t(cpu.l2_bytes));
  EXPECT_NE(registry->device("host://cpu?isa=avx").message().find("isa"),
            std::string::npos);
}

TEST_P(HostDriver, RunsGrids) {
  constexpr uint32_t count = 1000;
  auto in = words(count), out = words(count);
  for (uint32_t factor : {0u, 1u}) {
    std::vector<Command> commands = {
        scale({in, 0, count * 4}, {out, 0, count * 4}, factor, 7)};
    ASSERT_TRUE(queue->run(commands).ok());
    for (uint32_t i = 0; i < count; ++i)
      ASSERT_EQ(at(*out)[i], (factor + 2) * i + 7);
  }
}

TEST_P(HostDriver, PassesParametersBehindBindings) {
  constexpr uint32_t count = 100;
  constexpr int64_t wide = (int64_t(1) << 40) + 3;
  auto a = *device->allocate(8 * count), b = *device->allocate(8 * count);
  auto affine = [&](Binding out, int64_t factor, int64_t summand) {
    Dispatch dispatch{.executable = executable,
                      .entry = 4,
                      .grid = {count, 1, 1},
                      .bindings = {std::move(out)}};
    dispatch.parameters = {factor, summand};
    return dispatch;
  };
  auto check = [&](Buffer &buffer, int64_t factor, int64_t summand) {
    const auto *out = reinterpret_cast<const int64_t *>(buffer.map());
    for (int64_t i = 0; i < count; ++i)
      ASSERT_EQ(out[i], i * factor + summand);
  };
  std::vector<Command> commands = {affine({a, 0, 8 * count}, wide, -7),
                                   affine({b, 0, 8 * count}, -1, wide)};
  ASSERT_TRUE(queue->run(commands).ok());
  check(*a, wide, -7);
  check(*b, -1, wide);
  auto recorded = device->record(
      std::vector<Command>{affine({.length = 8 * count, .slot = 0}, 5, 6)});
  ASSERT_TRUE(recorded.ok()) << recorded.message();
  for (Buffer *buffer : {a.get(), b.get()}) {
    SlotBinding table[] = {{buffer}};
    ASSERT_TRUE(queue->run(**recorded, table).ok());
    check(*buffer, 5, 6);
  }
}

/// It has no clusters, no shared memory, no subgroups and reads no driver data.
TEST_P(HostDriver, RefusesWhatACpuCannotLaunch) {
  Dispatch dispatch{.executable = executable};
  dispatch.sharedBytes = 1;
  EXPECT_NE(queue->run(std::vector<Command>{dispatch})
                .message()
                .find("dynamic shared memory"),
            std::string::npos);
  Dispatch clustered{.executable = executable, .grid = {2, 1, 1}};
  clustered.cluster = {2, 1, 1};
  EXPECT_NE(
      queue->run(std::vector<Command>{clustered}).message().find("cluster"),
      std::string::npos);
  auto refusal = [&](const Entry &entry) {
    return device->load(format, image, {entry}).message();
  };
  EXPECT_NE(
      refusal({.name = "empty", .subgroupSize = 8}).find("subgroups of 8"),
      std::string::npos);
  EXPECT_NE(refusal({.name = "empty", .driverData = {1}})
                .find("1 bytes for its driver"),
            std::string::npos);
  EXPECT_NE(
      refusal({.name = "empty", .parameterCount = 65}).find("65 parameters"),
      std::string::npos);
}

TEST_P(HostDriver, NumbersThreeDimensionalGroups) {
  auto out = *device->allocate(5 * 7 * 11 * 4);
  Dispatch dispatch{.executable = executable, .entry = 2, .grid = {5, 7, 11}};
  dispatch.bindings = {{out, 0, out->size()}};
  ASSERT_TRUE(queue->run(std::vector<Command>{dispatch}).ok());
  for (uint32_t i = 0; i < 5 * 7 * 11; ++i)
    ASSERT_EQ(at(*out)[i], i);
}

TEST_P(HostDriver, ReplaysWavesWithSlots) {
  constexpr uint32_t count = 256;
  auto a = words(count), b = words(3 * count);
  auto part = [&](uint32_t slot, uint64_t index) {
    return Binding{
        .offset = index * count * 4, .length = count * 4, .slot = slot};
  };
  std::vector<Command> commands = {scale(part(0, 0), part(1, 0), 0, 1),
                                   scale(part(0, 0), part(1, 1), 1, 2),
                                   Barrier{},
                                   scale(part(1, 0), part(1, 2), 0, 0),
                                   Fill{part(1, 1), 0x11223344, 4},
                                   Barrier{},
                                   Copy{part(1, 2), part(0, 0)}};
  auto recorded = device->record(commands);
  ASSERT_TRUE(recorded.ok()) << recorded.message();
  SlotBinding table[] = {{a.get()}, {b.get()}};
  ASSERT_TRUE(queue->run(**recorded, table).ok());
  for (uint32_t i = 0; i < count; ++i) {
    ASSERT_EQ(at(*b)[i], 2 * i + 1);
    ASSERT_EQ(at(*b)[count + i], 0x11223344u);
    ASSERT_EQ(at(*a)[i], 4 * i + 2);
  }
}

TEST_P(HostDriver, CopiesAndFillsLargeBuffers) {
  constexpr uint64_t size = 3 * 1024 * 1024 + 12;
  auto a = *device->allocate(size), b = *device->allocate(size);
  std::vector<Command> commands = {Fill{{a, 0, size}, 0xABCD, 2}, Barrier{},
                                   Copy{{a, 0, size}, {b, 0, size}}};
  ASSERT_TRUE(queue->run(commands).ok());
  for (uint64_t i = 0; i < size / 4; ++i)
    ASSERT_EQ(at(*b)[i], 0xABCDABCD);
}

/// What a host sends that was built before a member was appended.
TEST_P(HostDriver, IgnoresWhatLiesBehindAShortCommand) {
  bp_command_dispatch_t dispatch = {BP_HEADER(bp_command_dispatch_t)};
  dispatch.header.size = offsetof(bp_command_dispatch_t, workspace_bytes);
  dispatch.workspace_bytes = ~uint64_t(0);
  dispatch.executable = executable->handle();
  std::fill_n(dispatch.grid, 3, 1);
  const bp_header_t *command = &dispatch.header;
  bp_status_t outcome = BP_STATUS_UNKNOWN;
  bp_completion_t completion = {};
  completion.context = &outcome;
  completion.done = [](void *context, bp_status_t status, bp_string_t) {
    *static_cast<bp_status_t *>(context) = status;
  };
  ASSERT_EQ(device->tables().queue.queue_execute(queue->handle(), &command, 1,
                                                 &completion, nullptr),
            BP_STATUS_OK);
  EXPECT_EQ(outcome, BP_STATUS_OK);
}

/// One after the other, without a barrier too; what did not run has no time.
TEST_P(HostDriver, TellsWhenEachCommandRan) {
  ASSERT_TRUE(device->tables().hasTimestamps);
  uint32_t baked = 34;
  bp_command_dispatch_t empty = {BP_HEADER(bp_command_dispatch_t)};
  empty.executable = executable->handle();
  std::fill_n(empty.grid, 3, 8);
  bp_command_dispatch_t fails = empty;
  fails.entry = 3;
  fails.constants = &baked;
  fails.constant_count = 1;
  bp_command_barrier_t barrier = {BP_HEADER(bp_command_barrier_t)};
  const bp_header_t *commands[] = {&empty.header, &barrier.header,
                                   &empty.header, &fails.header, &empty.header};
  bp_timestamp_t times[std::size(commands)] = {};
  bp_status_t outcome = BP_STATUS_OK;
  bp_completion_t completion = {};
  completion.context = &outcome;
  completion.done = [](void *context, bp_status_t status, bp_string_t) {
    *static_cast<bp_status_t *>(context) = status;
  };
  uint64_t before = Trace::now();
  ASSERT_EQ(device->tables().timestamps.queue_execute_timed(
                queue->handle(), commands, std::size(commands), times,
                &completion, nullptr),
            BP_STATUS_OK);
  uint64_t after = Trace::now();
  EXPECT_EQ(outcome, BP_STATUS_OUT_OF_RANGE);
  uint64_t last = before;
  for (size_t ran : {0, 2, 3}) {
    EXPECT_LE(last, times[ran].begin_ns);
    EXPECT_LT(times[ran].begin_ns, times[ran].end_ns);
    last = times[ran].end_ns;
  }
  EXPECT_LE(last, after);
  for (size_t other : {1, 4}) {
    EXPECT_EQ(times[other].begin_ns, 0u);
    EXPECT_EQ(times[other].end_ns, 0u);
  }
}

TEST_P(HostDriver, ErrorWordNamesTheOp) {
  Dispatch dispatch{
      .executable = executable, .entry = 3, .op = 12, .grid = {8, 1, 1}};
  for (uint32_t baked : {0u, 34u}) {
    dispatch.constants = {baked};
    Status status = queue->run(std::vector<Command>{dispatch});
    EXPECT_EQ(status.code(), BP_STATUS_OUT_OF_RANGE);
    EXPECT_EQ(status.message(), baked ? "device: op 34: an index is out of "
                                        "range"
                                      : "device: op 12: an index is out of "
                                        "range");
  }
  auto recorded = *device->record(std::vector<Command>{dispatch});
  EXPECT_FALSE(queue->run(*recorded).ok());
}

TEST_P(HostDriver, ImportsHostMemoryInPlace) {
  alignas(64) uint32_t memory[16] = {};
  auto buffer = device->import(memory, sizeof(memory), false);
  ASSERT_NE(buffer, nullptr);
  std::vector<Command> fill = {Fill{{buffer, 0, 64}, 5, 4}};
  ASSERT_TRUE(queue->run(fill).ok());
  EXPECT_EQ(memory[15], 5u);
  EXPECT_EQ(device->import(memory + 1, 4, false), nullptr);
  auto constant = device->import(memory, sizeof(memory), true);
  std::vector<Command> bad = {Fill{{constant, 0, 64}, 5, 4}};
  EXPECT_NE(queue->run(bad).message().find("read-only"), std::string::npos);
  auto recorded = *device->record(
      std::vector<Command>{Fill{{.length = 64, .slot = 0}, 5, 4}});
  SlotBinding table[] = {{constant.get()}};
  EXPECT_NE(queue->run(*recorded, table).message().find("read-only"),
            std::string::npos);
}

TEST_P(HostDriver, HugeAllocationsFailPolitely) {
  EXPECT_EQ(device->allocate(uint64_t(1) << 62).code(),
            BP_STATUS_RESOURCE_EXHAUSTED);
  EXPECT_EQ(device->allocate(~uint64_t(0)).code(),
            BP_STATUS_RESOURCE_EXHAUSTED);
}

TEST_P(HostDriver, MemoryIsGivenBack) {
  uint64_t before = registry->host().allocatedBytes();
  {
    auto buffer = *device->allocate(1 << 20);
    EXPECT_GT(registry->host().allocatedBytes(), before);
  }
  EXPECT_EQ(registry->host().allocatedBytes(), before);
}

TEST_P(HostDriver, StartedWorkIsDoneWhenWaitedFor) {
  auto a = words(64);
  std::vector<Command> commands = {scale({a, 0, 256}, {a, 0, 256}, 0, 0)};
  Pending first, second;
  ASSERT_TRUE(queue->start(commands, first).ok());
  ASSERT_TRUE(queue->start(commands, second).ok());
  EXPECT_TRUE(second.wait().ok());
  EXPECT_TRUE(first.done());
  EXPECT_EQ(at(*a)[5], 20u);
}

TEST_P(HostDriver, NativeTimelinesOrderQueues) {
  auto a = words(64), b = words(64);
  auto other = *device->createQueue();
  auto timeline = *device->createSemaphore();
  ASSERT_NE(timeline->handle(), nullptr);
  Timepoint one{timeline, 1}, two{timeline, 2}, three{timeline, 3};
  std::vector<Command> after = {Copy{{a, 0, 256}, {b, 0, 256}}};
  std::vector<Command> before = {scale({a, 0, 256}, {a, 0, 256}, 1, 0)};
  ASSERT_TRUE(other->submit({&two, 1}, {&three, 1}, after).ok());
  ASSERT_TRUE(queue->submit({&one, 1}, {&two, 1}, before).ok());
  EXPECT_EQ(timeline->wait(2, 1000000).code(), BP_STATUS_DEADLINE_EXCEEDED);
  ASSERT_TRUE(timeline->signal(1).ok());
  EXPECT_TRUE(timeline->wait(3).ok());
  EXPECT_EQ(at(*b)[5], 15u);
  EXPECT_EQ(timeline->signal(2).code(), BP_STATUS_INVALID_ARGUMENT);
  Dispatch fails{.executable = executable,
                 .entry = 3,
                 .op = 9,
                 .grid = {8, 1, 1},
                 .constants = {0}};
  Timepoint four{timeline, 4};
  ASSERT_TRUE(
      queue->submit({&three, 1}, {&four, 1}, std::vector<Command>{fails}).ok());
  EXPECT_NE(timeline->wait(4).message().find("op 9: "), std::string::npos);
}

TEST_P(HostDriver, DestroyedQueueCancelsWhatWaits) {
  auto never = *device->createSemaphore(), end = *device->createSemaphore();
  Timepoint wait{never, 1}, signal{end, 1};
  ASSERT_TRUE(queue->submit({&wait, 1}, {&signal, 1}, {}).ok());
  queue.reset();
  EXPECT_EQ(end->wait(1).code(), BP_STATUS_CANCELLED);
}

TEST_P(HostDriver, RefusesForeignExecutables) {
  auto refusal = [&](std::vector<uint8_t> blob) {
    auto loaded = device->load(format, blob, entries);
    EXPECT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.code(), BP_STATUS_INVALID_ARGUMENT);
    return loaded.message();
  };
  EXPECT_NE(refusal({}).find("no ELF file"), std::string::npos);
  EXPECT_NE(refusal(readFile(BP_UNDEFINED)).find("symbol missing"),
            std::string::npos);
  EXPECT_NE(refusal(readFile("/proc/self/exe")).find("cannot be loaded"),
            std::string::npos);
  auto foreign = image;
  foreign[18] = 243;
  EXPECT_NE(refusal(foreign).find("for ELF machine 243"), std::string::npos);
  auto missing = device->load(format, image, {{.name = "nothing"}});
  EXPECT_NE(missing.message().find("does not export the function nothing"),
            std::string::npos);
}

/// Loads, and calls nothing: a damaged image must be refused or mapped, never
/// crash the process.
TEST_P(HostDriver, SurvivesDamagedExecutables) {
  for (size_t size = 0; size < image.size(); size += 7) {
    std::vector<uint8_t> cut(image.begin(), image.begin() + long(size));
    (void)device->load(format, cut, entries);
  }
  std::mt19937 random(GetParam());
  for (int round = 0; round < 3000; ++round) {
    auto damaged = image;
    for (int i = 0; i < 4; ++i)
      damaged[random() % (round % 2 ? 1024 : image.size())] = uint8_t(random());
    (void)device->load(format, damaged, entries);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, HostDriver, testing::Values(1, 2, 4),
                         [](const auto &info) {
                           return std::to_string(info.param);
                         });

} // namespace
