// SPDX-License-Identifier: Apache-2.0
//
// DeviceTest.cpp: what the driver does on a device: kernels, replays, times,
// memory that the host does not see.
#include "Vectors.h"
#include "backends/vulkan/driver/Queue.h"

#include <chrono>
#include <cstring>
#include <malloc.h>
#include <numeric>

namespace backplane::vulkan::test {
namespace {

TEST_F(DeviceTest, AddsTwoVectors) {
  bp_buffer_t *a = buffer(ramp(1)), *b = buffer(ramp(2)), *c = buffer(ramp(0));
  Dispatch one(load(add), groups, {whole(a), whole(b), whole(c)}, {count});
  EXPECT_EQ(run(queue(), {one.header()}).message, "");
  EXPECT_EQ(read<float>(c, count), ramp(3));
}

TEST_F(DeviceTest, OrdersDispatchesAtBarriers) {
  bp_buffer_t *a = buffer(ramp(1)), *b = buffer(ramp(0));
  bp_executable_t *kernel = load(add);
  Dispatch there(kernel, groups, {whole(a), whole(a), whole(b)}, {count});
  Dispatch back(kernel, groups, {whole(b), whole(b), whole(a)}, {count});
  std::vector<const bp_header_t *> commands;
  for (int i = 0; i < 5; ++i)
    for (const Dispatch *one : {&there, &back}) {
      commands.push_back(one->header());
      commands.push_back(&barrier.header);
    }
  EXPECT_EQ(run(queue(), commands).message, "");
  EXPECT_EQ(read<float>(a, count), ramp(1024));
}

TEST_F(DeviceTest, GivesEachWorkGroupScratch) {
  std::vector<uint32_t> data(640), expected(640);
  std::iota(data.begin(), data.end(), 0);
  for (uint32_t i = 0; i < 640; ++i)
    expected[i] = i / 64 * 64 + 63 - i % 64;
  bp_buffer_t *a = buffer(data);
  Dispatch one(load(scratch), 10, {whole(a, 2560)}, {});
  EXPECT_EQ(run(queue(), {one.header()}).message, "");
  EXPECT_EQ(read<uint32_t>(a, 640), expected);
}

TEST_F(DeviceTest, GivesTheScratchThatTheDispatchNames) {
  Shader silent = scratch;
  silent.workspace = 0;
  bp_buffer_t *a = buffer(ramp(1)), *b = buffer(ramp(1));
  Dispatch one(load(silent), 2, {whole(a, 512)}, {});
  one.command.workspace_bytes = 256;
  Dispatch none(load(silent), 0, {whole(b, 512)}, {});
  EXPECT_EQ(run(queue(), {one.header(), none.header()}).message, "");
  EXPECT_EQ(read<float>(a, 1)[0], 63.0f);
  EXPECT_EQ(read<float>(b, count), ramp(1));
}

TEST_F(DeviceTest, PassesParametersOf64Bits) {
  if (!of(*device_).physical.has("shaderInt64"))
    GTEST_SKIP() << "the device has no shaderInt64";
  constexpr int64_t factor = (int64_t(1) << 40) + 3, summand = -7;
  bp_buffer_t *a = buffer(8 * count), *b = buffer(8 * count);
  bp_executable_t *kernel = load(affine);
  Dispatch one(kernel, groups, {whole(a, 8 * count)}, {count}, 0,
               {factor, summand});
  Dispatch other(kernel, groups, {whole(b, 8 * count)}, {count}, 0,
                 {-1, factor});
  EXPECT_EQ(run(queue(), {one.header(), other.header()}).message, "");
  for (int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(read<int64_t>(a, count)[size_t(i)], i * factor + summand);
    ASSERT_EQ(read<int64_t>(b, count)[size_t(i)], factor - i);
    i += 98;
  }
}

TEST_F(DeviceTest, RefusesMoreThanPushConstantsHold) {
  Shader many = add;
  many.constants = 3;
  many.parameters = 15;
  EXPECT_NE(refusalOf(many).find("3 constants and 15 parameters take 136 bytes "
                                 "of push constants, the most is 128"),
            std::string::npos)
      << refusalOf(many);
}

TEST_F(DeviceTest, RunsWithTheSubgroupsThatAnEntryAsksFor) {
  uint32_t sizes = of(*device_).physical.subgroupSizes;
  if (!sizes)
    GTEST_SKIP() << "the device has no sizes that can be asked for";
  for (uint32_t size = 1; size <= 128; size *= 2) {
    Shader asking = subgroups;
    asking.subgroupSize = size;
    if (!(sizes & size)) {
      EXPECT_NE(refusalOf(asking).find("subgroups of " + std::to_string(size)),
                std::string::npos)
          << refusalOf(asking);
      continue;
    }
    bp_buffer_t *a = buffer(64);
    Dispatch one(load(asking), 1, {whole(a, 64)}, {});
    EXPECT_EQ(run(queue(), {one.header()}).message, "");
    EXPECT_EQ(read<uint32_t>(a, 2), (std::vector<uint32_t>{64 / size, size}));
  }
}

TEST_F(DeviceTest, RefusesSubgroupsOfNoSize) {
  Shader asking = subgroups;
  asking.subgroupSize = 3;
  EXPECT_NE(refusalOf(asking).find("cannot ask for subgroups of 3"),
            std::string::npos)
      << refusalOf(asking);
}

/// Places in subgroups number the invocations of a work-group without a gap.
TEST_F(DeviceTest, FillsSubgroups) {
  for (const char *feature : {"subgroupShuffle", "computeFullSubgroups"})
    if (!of(*device_).physical.has(feature))
      GTEST_SKIP() << "the device has no " << feature;
  std::vector<uint32_t> data(640, 0), expected(640);
  for (uint32_t i = 0; i < 640; ++i)
    expected[i] = (i % 64 ^ 1) + 1;
  bp_buffer_t *a = buffer(data);
  Dispatch one(load(exchange), 10, {whole(a, 2560)}, {});
  EXPECT_EQ(run(queue(), {one.header()}).message, "");
  EXPECT_EQ(read<uint32_t>(a, 640), expected);
}

TEST_F(DeviceTest, UnloadsWhatNeverRan) {
  auto heap = [] {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  auto often = [&](int times) {
    for (int i = 0; i < times; ++i) {
      load(gather);
      unload();
    }
    return heap();
  };
  size_t warm = often(5);
  EXPECT_LT(often(20), warm + (size_t(2) << 20));
}

TEST_F(DeviceTest, BindsNothing) {
  bp_buffer_t *a = buffer(ramp(1));
  Dispatch one(load(add), 1, {whole(a, 0), whole(a, 0), whole(a, 0)}, {0});
  EXPECT_EQ(run(queue(), {one.header()}).message, "");
  EXPECT_EQ(read<float>(a, count), ramp(1));
}

// ---- Recordings ----

TEST_F(DeviceTest, ReplaysWithTheBuffersOfTheTable) {
  bp_buffer_t *a = buffer(ramp(1)), *b = buffer(ramp(2)), *c = buffer(ramp(0));
  Dispatch one(load(add), groups, {slot(0), slot(1), slot(2)}, {count});
  bp_command_buffer_t *recorded = record(one.header());
  ASSERT_TRUE(recorded);
  bp_queue_t *line = queue();
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(replay(line, recorded, {whole(a), whole(b), whole(c)}).message,
              "");
  EXPECT_EQ(read<float>(c, count), ramp(3));
  EXPECT_EQ(recorded->recordings.idle.size(), 1u);
  EXPECT_EQ(replay(line, recorded, {whole(c), whole(b), whole(a)}).message, "");
  EXPECT_EQ(read<float>(a, count), ramp(5));
  commandBufferTable.command_buffer_destroy(device_, recorded);
}

/// A buffer at the address of one that was freed is another buffer.
TEST_F(DeviceTest, NoticesThatABufferIsNew) {
  bp_buffer_t *a = buffer(ramp(1)), *c = buffer(ramp(0));
  Dispatch one(load(add), groups, {slot(0), slot(0), slot(1)}, {count});
  bp_command_buffer_t *recorded = record(one.header());
  ASSERT_TRUE(recorded);
  bp_queue_t *line = queue();
  for (int i = 1; i <= 4; ++i) {
    bp_buffer_t *passing = nullptr;
    std::vector<float> data = ramp(float(i));
    ASSERT_EQ(memoryTable.buffer_allocate(device_, BP_SPACE_DEVICE, 4 * count,
                                          64, &passing, nullptr),
              BP_STATUS_OK);
    write(passing, 0, data.data(), 4 * count);
    EXPECT_EQ(replay(line, recorded, {whole(passing), whole(c)}).message, "");
    EXPECT_EQ(read<float>(c, count), ramp(2 * float(i)));
    memoryTable.buffer_free(device_, passing);
  }
  EXPECT_EQ(read<float>(a, count), ramp(1));
  commandBufferTable.command_buffer_destroy(device_, recorded);
}

// ---- When commands ran ----

TEST_F(DeviceTest, TellsWhenEachCommandRan) {
  bp_buffer_t *a = buffer(ramp(1)), *b = buffer(ramp(2)), *c = buffer(ramp(0));
  bp_executable_t *kernel = load(add);
  Dispatch one(kernel, groups, {whole(a), whole(b), whole(c)}, {count});
  Dispatch two(kernel, groups, {whole(c), whole(b), whole(a)}, {count});
  const bp_header_t *commands[] = {one.header(), &barrier.header, two.header()};
  bp_timestamp_t times[3] = {};
  auto now = [] {
    return uint64_t(std::chrono::steady_clock::now().time_since_epoch() /
                    std::chrono::nanoseconds(1));
  };
  constexpr uint64_t slack = 1000000; // of the two clocks
  bp_queue_t *line = queue();
  uint64_t before = now();
  Completion done;
  bp_completion_t completion = done.completion();
  ASSERT_EQ(timestampsTable.queue_execute_timed(line, commands, 3, times,
                                                &completion, nullptr),
            BP_STATUS_OK);
  EXPECT_EQ(done.wait().message, "");
  uint64_t after = now();
  if (times[0].begin_ns == 0)
    GTEST_SKIP() << "the device's queues have no timestamps";
  EXPECT_GE(times[0].begin_ns + slack, before);
  EXPECT_LE(times[0].begin_ns, times[0].end_ns);
  EXPECT_LE(times[0].end_ns, times[2].begin_ns);
  EXPECT_LT(times[2].begin_ns, times[2].end_ns);
  EXPECT_LE(times[2].end_ns, after + slack);
  EXPECT_EQ(times[1].begin_ns, 0u);
}

// ---- Memory that the host does not see ----

class StagingTest : public DeviceTest {
protected:
  void SetUp() override { open("always"); }
};

TEST_F(StagingTest, CopiesThroughStagingMemory) {
  bp_buffer_t *a = buffer(ramp(1)), *b = buffer(ramp(2)), *c = buffer(ramp(0));
  void *pointer = nullptr;
  EXPECT_EQ(memory2Table.buffer_map(device_, a, &pointer, nullptr),
            BP_STATUS_UNIMPLEMENTED);
  Dispatch one(load(add), groups, {whole(a), whole(b), whole(c)}, {count});
  EXPECT_EQ(run(queue(), {one.header()}).message, "");
  EXPECT_EQ(read<float>(c, count), ramp(3));
}

TEST_F(StagingTest, CopiesMoreThanTheStagingMemoryHolds) {
  std::vector<uint32_t> data((9u << 20) / 4 + 3);
  std::iota(data.begin(), data.end(), 5);
  bp_buffer_t *a = buffer(data);
  EXPECT_EQ(read<uint32_t>(a, data.size()), data);
  std::vector<uint8_t> part = read<uint8_t>(a, 1001, 4194301);
  EXPECT_EQ(std::memcmp(part.data(),
                        reinterpret_cast<uint8_t *>(data.data()) + 4194301,
                        1001),
            0);
}

// ---- Mistakes, for the test of the validation layers ----

/// Two copies to one place without a barrier.
TEST_F(DeviceTest, DISABLED_MistakeRace) {
  bp_buffer_t *a = buffer(ramp(1)), *b = buffer(ramp(2)), *c = buffer(ramp(0));
  bp_command_copy_t first = {BP_HEADER(bp_command_copy_t)}, second = first;
  first.source = whole(a);
  second.source = whole(b);
  first.target = second.target = whole(c);
  (void)run(queue(), {&first.header, &second.header});
}

/// A binding that lies outside of its buffer.
TEST_F(DeviceTest, DISABLED_MistakeRange) {
  bp_buffer_t *a = buffer(ramp(1));
  Dispatch one(load(add), 1, {whole(a), whole(a), {a, 4096, 4096, 0, 0}}, {0});
  (void)run(queue(), {one.header()});
}

} // namespace
} // namespace backplane::vulkan::test
