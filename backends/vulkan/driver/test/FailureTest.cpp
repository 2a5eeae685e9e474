// SPDX-License-Identifier: Apache-2.0
//
// FailureTest.cpp: errors of kernels, how they travel through timelines, and a
// device that is lost.
#include "Vectors.h"
#include "backends/vulkan/driver/Queue.h"

namespace backplane::vulkan::test {
namespace {

class KernelErrorTest : public DeviceTest {
protected:
  /// Looks up indices of which number `bad` is out of range.
  Answer look(uint32_t bad, uint32_t baked, uint32_t op) {
    std::vector<uint32_t> indices(count, 3);
    indices[bad] = count;
    bp_buffer_t *a = buffer(ramp(1)), *b = buffer(indices);
    result_ = buffer(4 * count);
    Dispatch one(load(gather), groups, {whole(a), whole(b), whole(result_)},
                 {count, baked}, op);
    return run(queue(), {one.header()});
  }
  bp_buffer_t *result_ = nullptr;
};

TEST_F(KernelErrorTest, NamesTheOpOfTheWord) {
  Answer answer = look(17, 9, 4);
  EXPECT_EQ(answer.status, BP_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(answer.message, "op 9: an index is out of range");
  std::vector<float> found = read<float>(result_, count);
  EXPECT_EQ(found[17], 0.0f);
  EXPECT_EQ(found[18], 3.0f);
}

TEST_F(KernelErrorTest, NamesTheOpOfTheDispatch) {
  EXPECT_EQ(look(0, 0, 4).message, "op 4: an index is out of range");
}

TEST_F(KernelErrorTest, IsForgottenByTheNextRun) {
  std::vector<uint32_t> good(count, 3), bad(count, count);
  bp_buffer_t *a = buffer(ramp(1)), *c = buffer(4 * count);
  bp_executable_t *kernel = load(gather);
  bp_queue_t *line = queue();
  Dispatch wrong(kernel, groups, {whole(a), whole(buffer(bad)), whole(c)},
                 {count, 0}, 1);
  Dispatch right(kernel, groups, {whole(a), whole(buffer(good)), whole(c)},
                 {count, 0}, 2);
  EXPECT_EQ(run(line, {wrong.header()}).status, BP_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(run(line, {right.header()}).message, "");
  EXPECT_EQ(
      run(line, {right.header(), &barrier.header, wrong.header()}).message,
      "op 1: an index is out of range");
}

/// Work that waits for a kernel which fails, given before it or behind it.
class TravelTest : public KernelErrorTest,
                   public ::testing::WithParamInterface<bool> {};

TEST_P(TravelTest, FailsAndDoesNotRun) {
  std::vector<uint32_t> bad(count, count);
  bp_buffer_t *a = buffer(ramp(1)), *c = buffer(4 * count);
  Dispatch wrong(load(gather), groups, {whole(a), whole(buffer(bad)), whole(c)},
                 {count, 0}, 5);
  bp_command_fill_t fill = {BP_HEADER(bp_command_fill_t)};
  fill.target = whole(a);
  fill.pattern_size = 4;
  bp_semaphore_t *made = nullptr, *end = nullptr;
  for (bp_semaphore_t **one : {&made, &end})
    ASSERT_EQ(semaphoreTable.semaphore_create(device_, 0, one, nullptr), 0);
  bp_timepoint_t first = {made, 1}, last = {end, 1};
  bp_queue_t *one = queue(), *two = queue();
  for (bool creator : {!GetParam(), bool(GetParam())}) {
    const bp_header_t *commands[] = {creator ? wrong.header() : &fill.header};
    ASSERT_EQ(semaphoreTable.queue_submit(
                  creator ? one : two, &first, creator ? 0 : 1,
                  creator ? &first : &last, 1, commands, 1, nullptr),
              BP_STATUS_OK);
  }
  ErrorText error;
  EXPECT_EQ(semaphoreTable.semaphore_wait(device_, end, 1, UINT64_MAX,
                                          error.handle()),
            BP_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(error.text, "op 5: an index is out of range");
  EXPECT_EQ(read<float>(a, count), ramp(1));
  for (bp_semaphore_t *semaphore : {made, end})
    semaphoreTable.semaphore_destroy(device_, semaphore);
}

INSTANTIATE_TEST_SUITE_P(Orders, TravelTest, ::testing::Bool());

// ---- A device that is lost ----

class LossTest : public DeviceTest {
protected:
  void loseAtSubmit() {
    of(*device_).vk.vkQueueSubmit = [](VkQueue, uint32_t, const VkSubmitInfo *,
                                       VkFence) {
      return VK_ERROR_DEVICE_LOST;
    };
  }
  void loseAtWait() {
    of(*device_).vk.vkWaitSemaphores =
        [](VkDevice device, const VkSemaphoreWaitInfo *, uint64_t) {
          waitIdle(device);
          return VK_ERROR_DEVICE_LOST;
        };
    waitIdle = of(*device_).vk.vkDeviceWaitIdle;
  }
  static PFN_vkDeviceWaitIdle waitIdle;
};
PFN_vkDeviceWaitIdle LossTest::waitIdle;

TEST_F(LossTest, FailsTheWorkThatIsGivenToIt) {
  bp_queue_t *line = queue();
  loseAtSubmit();
  EXPECT_EQ(run(line, {}).status, BP_STATUS_UNAVAILABLE);
  EXPECT_EQ(run(line, {}).status, BP_STATUS_UNAVAILABLE);
  EXPECT_EQ(run(queue(), {}).status, BP_STATUS_UNAVAILABLE);
}

TEST_F(LossTest, FailsTheWorkThatItHas) {
  bp_queue_t *line = queue();
  loseAtWait();
  Answer answer = run(line, {});
  EXPECT_EQ(answer.status, BP_STATUS_UNAVAILABLE);
  EXPECT_NE(answer.message.find("VK_ERROR_DEVICE_LOST"), std::string::npos);
  EXPECT_EQ(run(line, {}).status, BP_STATUS_UNAVAILABLE);
}

TEST_F(LossTest, FailsWhoeverWaits) {
  bp_semaphore_t *gate = nullptr, *end = nullptr;
  for (bp_semaphore_t **one : {&gate, &end})
    ASSERT_EQ(semaphoreTable.semaphore_create(device_, 0, one, nullptr), 0);
  bp_timepoint_t wait = {gate, 1}, signal = {end, 1};
  ASSERT_EQ(semaphoreTable.queue_submit(queue(), &wait, 1, &signal, 1, nullptr,
                                        0, nullptr),
            BP_STATUS_OK);
  bp_queue_t *line = queue();
  loseAtSubmit();
  EXPECT_EQ(run(line, {}).status, BP_STATUS_UNAVAILABLE);
  EXPECT_EQ(
      semaphoreTable.semaphore_wait(device_, end, 1, 5000000000u, nullptr),
      BP_STATUS_UNAVAILABLE);
  for (bp_semaphore_t *semaphore : {gate, end})
    semaphoreTable.semaphore_destroy(device_, semaphore);
}

} // namespace
} // namespace backplane::vulkan::test
