// SPDX-License-Identifier: Apache-2.0
//
// QueueTest.cpp: submissions to a device that is done when the test says so.
#include "Harness.h"

#include <map>

namespace backplane::gpu::test {
namespace {

/// What all recordings of a device share: which fills have been started, by
/// their pattern, and how they end.
struct Work {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<uint32_t> started;
  std::map<uint32_t, Outcome> done;

  void finish(uint32_t pattern, const Outcome &outcome = {}) {
    std::lock_guard lock(mutex);
    done[pattern] = outcome;
    changed.notify_all();
  }
  std::vector<uint32_t> now() {
    std::lock_guard lock(mutex);
    return started;
  }
};

/// Of one fill, or of a dispatch with the op as the pattern, which may fail.
class FakeRecording final : public Recording {
public:
  explicit FakeRecording(Work &work) : work_(work) {}

  void record(Commands commands, std::span<const uint64_t> bound) {
    ++records;
    mayFail_ = commands[0]->type == bp_command_dispatch_t_TYPE;
    ops_.clear();
    if (mayFail_)
      ops_.push_back(readStruct<bp_command_dispatch_t>(commands[0]).op);
    pattern =
        mayFail_ ? ops_[0] : readStruct<bp_command_fill_t>(commands[0]).pattern;
    bound_.emplace(bound.begin(), bound.end());
  }
  Outcome wait() override {
    std::unique_lock lock(work_.mutex);
    work_.changed.wait(lock, [&] { return work_.done.count(pattern) != 0; });
    return work_.done[pattern];
  }
  void readTimes(bp_timestamp_t *times) const override { times[0] = {1, 2}; }

  uint32_t pattern = 0;
  int records = 0;

protected:
  uint32_t errorWord(size_t) const override {
    return BP_KERNEL_ERROR(BP_KERNEL_ERROR_INDEX, 0);
  }

private:
  Work &work_;
};

struct FakeQueue final : bp_queue_t {
  FakeQueue(bp_device_t &device, Work &work) : bp_queue_t(device), work(work) {}
  bp_status_t record(Submission &submission, Commands commands,
                     const Terms &terms, bp_error_t *) override {
    auto &recording = static_cast<FakeRecording &>(**submission.recording);
    std::span<const uint64_t> bound;
    if (terms.replayed)
      bound = terms.replayed->bound();
    if (!terms.replayed || !recording.holds(bound))
      recording.record(commands, bound);
    return BP_STATUS_OK;
  }
  Outcome start(const Submission &submission) override {
    std::lock_guard lock(work.mutex);
    work.started.push_back(
        static_cast<FakeRecording &>(**submission.recording).pattern);
    return {};
  }
  Work &work;
};

struct FakeDevice final : bp_device_t {
  FakeDevice(const Driver &driver, Work &work)
      : bp_device_t(driver), work(work) {}
  bp_status_t allocate(bool, uint64_t, uint64_t, bp_buffer_t **out,
                       bp_error_t *) override {
    *out = new bp_buffer_t{++buffers, nullptr};
    return BP_STATUS_OK;
  }
  bp_status_t import(void *pointer, uint64_t, bp_buffer_t **out,
                     bp_error_t *) override {
    *out = new bp_buffer_t{++buffers, static_cast<uint8_t *>(pointer)};
    return BP_STATUS_OK;
  }
  void release(bp_buffer_t *buffer) override { delete buffer; }
  bp_status_t write(bp_buffer_t &, uint64_t, const void *, uint64_t,
                    bp_error_t *) override {
    return BP_STATUS_INTERNAL;
  }
  bp_status_t read(bp_buffer_t &, uint64_t, void *, uint64_t,
                   bp_error_t *) override {
    return BP_STATUS_INTERNAL;
  }
  bp_status_t makeQueue(std::unique_ptr<bp_queue_t> &out,
                        bp_error_t *) override {
    out = std::make_unique<FakeQueue>(*this, work);
    return BP_STATUS_OK;
  }
  std::unique_ptr<Recording> makeRecording() override {
    return std::make_unique<FakeRecording>(work);
  }
  Work &work;
  uint64_t buffers = 0;
};

class GpuQueue : public ::testing::Test {
protected:
  GpuQueue() {
    for (bp_queue_t **queue : {&one_, &two_})
      EXPECT_EQ(queueTable.queue_create(&device_, 0, queue, nullptr), 0);
    for (bp_semaphore_t **made : {&gate_, &middle_, &end_})
      EXPECT_EQ(semaphoreTable.semaphore_create(&device_, 0, made, nullptr), 0);
  }
  ~GpuQueue() override {
    for (bp_queue_t *queue : {one_, two_})
      if (queue)
        queueTable.queue_destroy(&device_, queue);
    for (bp_semaphore_t *made : {gate_, middle_, end_})
      semaphoreTable.semaphore_destroy(&device_, made);
  }

  using Points = std::vector<bp_timepoint_t>;
  bp_status_t submit(bp_queue_t *queue, const Points &waits,
                     const Points &signals, const bp_header_t &command) {
    const bp_header_t *commands[] = {&command};
    return semaphoreTable.queue_submit(queue, waits.data(), waits.size(),
                                       signals.data(), signals.size(), commands,
                                       1, nullptr);
  }
  bp_status_t fill(bp_queue_t *queue, const Points &waits,
                   const Points &signals, uint32_t pattern) {
    bp_command_fill_t command = {BP_HEADER(bp_command_fill_t), {}, pattern, 4};
    return submit(queue, waits, signals, command.header);
  }
  bp_status_t dispatch(bp_queue_t *queue, const Points &waits,
                       const Points &signals, uint32_t op) {
    bp_command_dispatch_t command = {BP_HEADER(bp_command_dispatch_t)};
    command.op = op;
    return submit(queue, waits, signals, command.header);
  }
  std::pair<bp_status_t, std::string> wait(bp_semaphore_t *semaphore) {
    ErrorText error;
    bp_status_t status = semaphoreTable.semaphore_wait(
        &device_, semaphore, 1, UINT64_MAX, error.handle());
    return {status, error.text};
  }

  using Started = std::vector<uint32_t>;
  Work work_;
  Driver driver_{&plainHost(), "fake"};
  FakeDevice device_{driver_, work_};
  bp_queue_t *one_ = nullptr, *two_ = nullptr;
  bp_semaphore_t *gate_ = nullptr, *middle_ = nullptr, *end_ = nullptr;
};

/// What another queue was given is waited for on the device; what nobody has
/// promised yet is not started.
TEST_F(GpuQueue, HoldsBackWhatNobodyHasPromised) {
  EXPECT_EQ(fill(one_, {{middle_, 1}}, {{end_, 1}}, 1), BP_STATUS_OK);
  EXPECT_EQ(work_.now(), Started());
  EXPECT_EQ(fill(two_, {{gate_, 2}}, {{middle_, 1}}, 2), BP_STATUS_OK);
  EXPECT_EQ(work_.now(), Started());
  EXPECT_EQ(semaphoreTable.semaphore_signal(&device_, gate_, 1, nullptr), 0);
  EXPECT_EQ(work_.now(), Started());
  EXPECT_EQ(semaphoreTable.semaphore_signal(&device_, gate_, 2, nullptr), 0);
  EXPECT_EQ(work_.now(), (Started{2, 1})) << "both, nothing is done yet";
  work_.finish(1);
  work_.finish(2);
  EXPECT_EQ(wait(end_).first, BP_STATUS_OK);
}

/// A kernel may fail: what waits for it starts when it has not, and never when
/// it has, for the same reason.
TEST_F(GpuQueue, HoldsBackWhatWaitsForAKernel) {
  EXPECT_EQ(dispatch(one_, {}, {{middle_, 1}}, 7), BP_STATUS_OK);
  EXPECT_EQ(fill(two_, {{middle_, 1}}, {{end_, 1}}, 2), BP_STATUS_OK);
  EXPECT_EQ(work_.now(), Started{7});
  work_.finish(7);
  std::pair<bp_status_t, std::string> failure{BP_STATUS_OUT_OF_RANGE,
                                              "op 7: an index is out of range"};
  EXPECT_EQ(wait(end_), failure);
  EXPECT_EQ(wait(middle_), failure);
  EXPECT_EQ(work_.now(), Started{7});
}

TEST_F(GpuQueue, TellsOfALostDeviceEverywhere) {
  EXPECT_EQ(fill(two_, {{gate_, 1}}, {{end_, 1}}, 2), BP_STATUS_OK);
  EXPECT_EQ(fill(one_, {}, {{middle_, 1}}, 1), BP_STATUS_OK);
  device_.lose("it melted");
  work_.finish(1, {BP_STATUS_UNAVAILABLE, "it melted"});
  EXPECT_EQ(wait(middle_).first, BP_STATUS_UNAVAILABLE);
  EXPECT_EQ(wait(end_).second, "the fake device is lost: it melted");
  EXPECT_EQ(fill(one_, {}, {}, 3), BP_STATUS_UNAVAILABLE);
}

TEST_F(GpuQueue, CancelsWhatIsHeldBackWhenItEnds) {
  EXPECT_EQ(fill(one_, {{gate_, 1}}, {{end_, 1}}, 1), BP_STATUS_OK);
  queueTable.queue_destroy(&device_, one_);
  one_ = nullptr;
  EXPECT_EQ(wait(end_).first, BP_STATUS_CANCELLED);
  EXPECT_EQ(work_.now(), Started());
}

/// Two sets of buffers are recorded once each; a third takes the place of the
/// older.
TEST_F(GpuQueue, RecordsCommandBuffersForTwoSetsOfBuffers) {
  bp_command_fill_t command = {BP_HEADER(bp_command_fill_t), {}, 9, 4};
  command.target = {nullptr, 4, 8, 0, 0};
  const bp_header_t *commands[] = {&command.header};
  bp_command_buffer_t *recorded = nullptr;
  ASSERT_EQ(commandBufferTable.command_buffer_create(&device_, commands, 1,
                                                     &recorded, nullptr),
            BP_STATUS_OK);
  work_.finish(9);
  bp_buffer_t buffers[] = {{1, nullptr}, {2, nullptr}, {3, nullptr}};
  auto run = [&](bp_buffer_t &buffer) {
    bp_binding_t table = {&buffer, 16, 8, 0, 0};
    Completion ending;
    bp_completion_t done = ending.completion();
    EXPECT_EQ(commandBufferTable.command_buffer_execute(one_, recorded, &table,
                                                        1, &done, nullptr),
              BP_STATUS_OK);
    EXPECT_EQ(ending.wait().status, BP_STATUS_OK);
  };
  auto records = [&] {
    std::lock_guard lock(device_.mutex);
    int all = 0;
    for (const auto &one : recorded->recordings.idle)
      all += static_cast<FakeRecording &>(*one).records;
    return all;
  };
  for (int i = 0; i < 3; ++i) {
    run(buffers[0]);
    run(buffers[1]);
  }
  EXPECT_EQ(records(), 2);
  run(buffers[2]);
  run(buffers[1]);
  EXPECT_EQ(records(), 3);
  run(buffers[0]);
  EXPECT_EQ(records(), 4);
  commandBufferTable.command_buffer_destroy(&device_, recorded);
}

TEST_F(GpuQueue, RefusesUnknownCommandsAndQueues) {
  bp_command_fill_t command = {{sizeof(command), 77, nullptr}, {}, 9, 4};
  EXPECT_EQ(submit(one_, {}, {}, command.header), BP_STATUS_UNIMPLEMENTED);
  bp_queue_t *queue = nullptr;
  ErrorText error;
  EXPECT_EQ(queueTable.queue_create(&device_, 99, &queue, error.handle()),
            BP_STATUS_UNIMPLEMENTED);
  EXPECT_EQ(error.text, "the fake driver has no queue of class 99");
}

TEST_F(GpuQueue, TellsTimesWhereTheyAreAsked) {
  bp_command_fill_t command = {BP_HEADER(bp_command_fill_t), {}, 5, 4};
  const bp_header_t *commands[] = {&command.header};
  Completion ending;
  bp_completion_t done = ending.completion();
  bp_timestamp_t times = {};
  work_.finish(5);
  ASSERT_EQ(timestampsTable.queue_execute_timed(one_, commands, 1, &times,
                                                &done, nullptr),
            BP_STATUS_OK);
  EXPECT_EQ(ending.wait().status, BP_STATUS_OK);
  EXPECT_EQ(times.end_ns, 2u);
}

} // namespace
} // namespace backplane::gpu::test
