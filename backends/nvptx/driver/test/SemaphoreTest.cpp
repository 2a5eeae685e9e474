// SPDX-License-Identifier: Apache-2.0
//
// SemaphoreTest.cpp: submissions that wait for timelines and signal them: in
// the stream, on the host, and when something fails.
#include "Harness.h"
#include "backends/nvptx/driver/Queue.h"

#include <dlfcn.h>

namespace cudatest {
namespace {

class CudaSemaphores : public CudaDevice {
protected:
  void SetUp() override {
    CudaDevice::SetUp();
    ASSERT_EQ(
        queueTable.queue_create(device_, BP_QUEUE_COMPUTE, &other_, nullptr),
        BP_STATUS_OK);
    for (bp_semaphore_t **made : {&gate_, &middle_, &end_})
      ASSERT_EQ(semaphoreTable.semaphore_create(device_, 0, made, nullptr),
                BP_STATUS_OK);
    write(in_, std::vector<uint32_t>(count, 1));
    write(out_, std::vector<uint32_t>(count, 0));
  }
  void TearDown() override {
    for (bp_semaphore_t *made : {gate_, middle_, end_})
      semaphoreTable.semaphore_destroy(device_, made);
    if (other_)
      queueTable.queue_destroy(device_, other_);
    CudaDevice::TearDown();
  }

  using Points = std::vector<bp_timepoint_t>;
  void submit(bp_queue_t *queue, const Points &waits, const Points &signals,
              const std::vector<const bp_header_t *> &commands) {
    ErrorText error;
    EXPECT_EQ(semaphoreTable.queue_submit(queue, waits.data(), waits.size(),
                                          signals.data(), signals.size(),
                                          commands.data(), commands.size(),
                                          error.handle()),
              BP_STATUS_OK)
        << error.text;
  }
  void signal(bp_semaphore_t *semaphore, uint64_t value) {
    EXPECT_EQ(
        semaphoreTable.semaphore_signal(device_, semaphore, value, nullptr),
        BP_STATUS_OK);
  }
  /// What a wait for the value comes to.
  std::pair<bp_status_t, std::string> wait(bp_semaphore_t *semaphore,
                                           uint64_t value) {
    constexpr uint64_t minute = 60000000000u;
    ErrorText error;
    bp_status_t status = semaphoreTable.semaphore_wait(
        device_, semaphore, value, minute, error.handle());
    return {status, error.text};
  }
  bp_command_fill_t fill(uint32_t pattern) {
    return {BP_HEADER(bp_command_fill_t), whole(in_), pattern, 4};
  }
  uint64_t valueOf(bp_semaphore_t *semaphore) {
    uint64_t value = 0;
    EXPECT_EQ(
        semaphoreTable.semaphore_query(device_, semaphore, &value, nullptr),
        BP_STATUS_OK);
    return value;
  }

  const std::pair<bp_status_t, std::string> good_{BP_STATUS_OK, ""};
  bp_queue_t *other_ = nullptr;
  bp_semaphore_t *gate_ = nullptr, *middle_ = nullptr, *end_ = nullptr;
};

/// A kernel waits for a fill that is submitted later to another queue, which
/// waits for the host.
TEST_F(CudaSemaphores, WaitForWhatIsSubmittedLater) {
  ASSERT_EQ(load(affine("0")), "");
  Affine kernel(executable_, groups, whole(in_), whole(out_));
  bp_command_fill_t fives = fill(5);
  submit(queue_, {{middle_, 1}}, {{end_, 1}}, {&kernel.command.header});
  submit(other_, {{gate_, 4}}, {{middle_, 1}}, {&fives.header});
  signal(gate_, 3);
  EXPECT_EQ(valueOf(end_), 0u);
  EXPECT_EQ(read(out_), std::vector<uint32_t>(count, 0));
  signal(gate_, 4);
  EXPECT_EQ(wait(end_, 1), good_);
  EXPECT_EQ(read(out_), std::vector<uint32_t>(count, 22));
}

/// A copy that waits for a fill of another queue is in its stream at once, and
/// the stream waits.
TEST_F(CudaSemaphores, WaitInTheStream) {
  bp_buffer_t *flag = nullptr;
  ASSERT_EQ(memoryTable.buffer_allocate(device_, BP_SPACE_STAGING, 4, 256,
                                        &flag, nullptr),
            BP_STATUS_OK);
  ASSERT_EQ(memoryTable.buffer_write(device_, flag, 0, "\0\0\0", 4, nullptr),
            BP_STATUS_OK);
  void *library = dlopen(BP_CUDA_EMULATOR, RTLD_NOW | RTLD_NOLOAD);
  auto *hold = reinterpret_cast<decltype(&::cuStreamWaitValue32)>(
      dlsym(library, "cuStreamWaitValue32_v2"));
  ASSERT_NE(hold, nullptr);
  {
    Current current(of(*device_));
    ASSERT_EQ(hold(static_cast<Queue *>(other_)->stream, addressOf(*flag), 1,
                   CU_STREAM_WAIT_VALUE_EQ),
              CUDA_SUCCESS);
  }
  bp_command_fill_t fives = fill(5);
  bp_command_copy_t copy = {BP_HEADER(bp_command_copy_t), whole(in_),
                            whole(out_)};
  submit(other_, {}, {{middle_, 1}}, {&fives.header});
  submit(queue_, {{middle_, 1}}, {{end_, 1}}, {&copy.header});
  {
    std::lock_guard lock(device_->mutex);
    EXPECT_TRUE(queue_->waiting.empty());
  }
  EXPECT_EQ(read(out_), std::vector<uint32_t>(count, 0));
  memoryTable.buffer_write(device_, flag, 0, "\1\0\0", 4, nullptr);
  EXPECT_EQ(wait(end_, 1), good_);
  EXPECT_EQ(read(out_), std::vector<uint32_t>(count, 5));
  memoryTable.buffer_free(device_, flag);
  dlclose(library);
}

/// Work that comes later to a queue does not overtake what is held back.
TEST_F(CudaSemaphores, KeepTheOrderOfAQueue) {
  ASSERT_EQ(load(affine("0")), "");
  bp_command_fill_t nines = fill(9);
  submit(queue_, {{gate_, 1}}, {}, {&nines.header});
  Affine kernel(executable_, groups, whole(in_), whole(out_));
  const bp_header_t *commands[] = {&kernel.command.header};
  Completion done;
  bp_completion_t completion = done.completion();
  ASSERT_EQ(queueTable.queue_execute(queue_, commands, 1, &completion, nullptr),
            BP_STATUS_OK);
  EXPECT_FALSE(done.isDone());
  signal(gate_, 1);
  EXPECT_EQ(done.wait().status, BP_STATUS_OK);
  EXPECT_EQ(read(out_), std::vector<uint32_t>(count, 34));
}

/// Nothing runs that waits for what has failed, on whatever queue, and the
/// reason arrives everywhere; the queues stay usable.
TEST_F(CudaSemaphores, CarryAFailure) {
  ASSERT_EQ(load(affine("0x01000000")), "");
  Affine kernel(executable_, groups, whole(in_), whole(out_));
  bp_command_fill_t fives = fill(5);
  submit(queue_, {{gate_, 1}}, {{middle_, 1}}, {&kernel.command.header});
  submit(other_, {{middle_, 1}}, {{end_, 1}}, {&fives.header});
  signal(gate_, 1);
  std::pair<bp_status_t, std::string> failure{BP_STATUS_OUT_OF_RANGE,
                                              "op 5: an index is out of range"};
  EXPECT_EQ(wait(end_, 1), failure);
  EXPECT_EQ(wait(middle_, 1), failure);
  EXPECT_EQ(read(in_), std::vector<uint32_t>(count, 1));
  ErrorText error;
  EXPECT_EQ(
      semaphoreTable.semaphore_signal(device_, middle_, 2, error.handle()),
      BP_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(error.text, failure.second);
  submit(other_, {}, {{gate_, 2}}, {&fives.header});
  EXPECT_EQ(wait(gate_, 2), good_);
  EXPECT_EQ(read(in_), std::vector<uint32_t>(count, 5));
}

/// A lost device releases everybody, also when the loss shows while the kernel
/// is submitted.
TEST_F(CudaSemaphores, TellOfALostDevice) {
  ASSERT_EQ(load(affine("0")), "");
  Affine kernel(executable_, groups + 1, whole(in_), whole(out_));
  bp_command_fill_t fives = fill(5);
  submit(other_, {{middle_, 1}}, {{end_, 1}}, {&fives.header});
  bp_timepoint_t signal = {middle_, 1};
  const bp_header_t *commands[] = {&kernel.command.header};
  bp_status_t submitted = semaphoreTable.queue_submit(
      queue_, nullptr, 0, &signal, 1, commands, 1, nullptr);
  EXPECT_TRUE(submitted == BP_STATUS_OK || submitted == BP_STATUS_UNAVAILABLE);
  auto [status, message] = wait(end_, 1);
  EXPECT_EQ(status, BP_STATUS_UNAVAILABLE);
  EXPECT_NE(message.find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos)
      << message;
}

/// What is held back when its queue goes is told so.
TEST_F(CudaSemaphores, CancelWithTheQueue) {
  bp_command_fill_t fives = fill(5);
  submit(other_, {{gate_, 1}}, {{end_, 1}}, {&fives.header});
  queueTable.queue_destroy(device_, other_);
  other_ = nullptr;
  EXPECT_EQ(wait(end_, 1).first, BP_STATUS_CANCELLED);
  signal(gate_, 1);
  EXPECT_EQ(read(in_), std::vector<uint32_t>(count, 1));
}

} // namespace
} // namespace cudatest
