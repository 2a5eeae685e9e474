// SPDX-License-Identifier: Apache-2.0
//
// Values that one call makes and the next takes: donated, awaited, released.
#include "ValueCalls.h"

#include <set>
#include <thread>

using namespace backplane;
using namespace backplane::test;

namespace {

TEST_F(Values, DonatedBuffersBecomeResults) {
  std::vector<float> x(8, 1), y(8), want = x;
  int64_t dims[] = {2, 4};
  bp_value_t now = hostValue(x.data(), dims);
  std::set<void *> memories;
  for (int i = 0; i < 10; ++i) { // further on, f32 rounds
    bp_value_t next = madeValue(BP_VALUE_ON_DEVICE);
    Status status = run(now, next);
    ASSERT_TRUE(status.ok()) << status.message();
    memories.insert(bp_device_buffer_map(next.buffer));
    want = expected(want);
    now = next;
    now.flags = BP_VALUE_DONATED;
  }
  readValue(now, y);
  EXPECT_EQ(y, want);
  EXPECT_LE(memories.size(), 2u) << "two buffers take turns";
  now.release(now.context);
}

TEST_F(Values, CallsFollowEachOtherWithoutAWait) {
  std::vector<float> x(8, 1), y(8), want = x;
  int64_t dims[] = {2, 4};
  bp_value_t now = hostValue(x.data(), dims);
  std::vector<bp_call_t *> calls;
  for (int i = 0; i < 10; ++i) { // further on, f32 rounds
    bp_value_t next = madeValue(BP_VALUE_ON_DEVICE);
    auto call = submit(now, next);
    ASSERT_TRUE(call.ok()) << call.message();
    ASSERT_NE(next.ready, nullptr);
    calls.push_back(*call);
    want = expected(want);
    now = next;
    now.flags = BP_VALUE_DONATED;
  }
  Status status = checked([&](bp_error_t *error) {
    return bp_timeline_wait(now.ready, now.ready_value, UINT64_MAX, error);
  });
  ASSERT_TRUE(status.ok()) << status.message();
  readValue(now, y);
  EXPECT_EQ(y, want);
  for (bp_call_t *call : calls)
    EXPECT_TRUE(wait(call).ok());
  now.release(now.context);
}

TEST_F(Values, AnotherSessionWaitsForAReadyPoint) {
  Session second =
      std::move(*createSession(artifact_, {BP_HEADER(bp_session_options_t)}));
  std::vector<float> x = ramp(4000), y(4000);
  int64_t dims[] = {1000, 4};
  bp_value_t in = hostValue(x.data(), dims);
  bp_value_t between = madeValue(BP_VALUE_ON_DEVICE);
  auto call = submit(in, between);
  ASSERT_TRUE(call.ok());
  bp_value_t out = hostValue(y.data(), dims);
  Status status = runValues(second, {&between}, {&out});
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(y, expected(expected(x)));
  EXPECT_TRUE(wait(*call).ok());
  between.release(between.context);
}

TEST_F(Values, ACallWaitsForTheApplicationsTimeline) {
  bp_timeline_t *timeline = nullptr;
  ASSERT_EQ(bp_timeline_create(&timeline, nullptr), BP_STATUS_OK);
  std::vector<float> x(8, -1), y(8);
  int64_t dims[] = {2, 4};
  bp_value_t in = hostValue(x.data(), dims), out = hostValue(y.data(), dims);
  in.ready = timeline;
  in.ready_value = 3;
  std::thread camera([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::iota(x.begin(), x.end(), 0.f);
    EXPECT_EQ(bp_timeline_signal(timeline, 3, nullptr), BP_STATUS_OK);
  });
  Status status = run(in, out);
  camera.join();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(y, expected(x));
  EXPECT_EQ(bp_timeline_value(timeline), 3u);
  EXPECT_EQ(bp_timeline_signal(timeline, 3, nullptr),
            BP_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(bp_timeline_wait(timeline, 4, 1000, nullptr),
            BP_STATUS_DEADLINE_EXCEEDED);
  EXPECT_EQ(bp_timeline_fail(timeline, BP_STATUS_UNAVAILABLE,
                             toC("the camera is gone"), nullptr),
            BP_STATUS_OK);
  status = run(in, out);
  EXPECT_EQ(status.code(), BP_STATUS_UNAVAILABLE);
  EXPECT_NE(status.message().find("camera is gone"), std::string::npos);
  bp_timeline_destroy(timeline);
}

void count(void *context) { ++*static_cast<int *>(context); }

TEST_F(Values, DonatedValuesAreReleasedOnceAndOnlyWhenTaken) {
  std::vector<float> x = ramp(8), y(8);
  int64_t dims[] = {2, 4}, wrong[] = {2, 5};
  int released = 0;
  bp_value_t in = hostValue(x.data(), dims), out = hostValue(y.data(), wrong);
  in.flags = BP_VALUE_DONATED;
  in.release = count;
  in.context = &released;
  EXPECT_FALSE(run(in, out).ok());
  EXPECT_EQ(released, 0) << "a call that was not started takes nothing";
  out.dims = dims;
  EXPECT_TRUE(run(in, out).ok());
  EXPECT_EQ(released, 1);
  auto call = submit(in, out);
  ASSERT_TRUE(call.ok());
  EXPECT_TRUE(wait(*call).ok());
  EXPECT_EQ(released, 2);
}

TEST_F(Values, BuffersOutliveTheirHandles) {
  std::vector<float> x = ramp(4000), y(4000);
  int64_t dims[] = {1000, 4};
  DeviceBuffer from = buffer(16000);
  ASSERT_EQ(bp_device_buffer_write(from.get(), 0, x.data(), 16000, nullptr),
            BP_STATUS_OK);
  bp_value_t in = bufferValue(from.get(), dims);
  bp_value_t out = hostValue(y.data(), dims);
  auto call = submit(in, out);
  from.reset();
  ASSERT_TRUE(call.ok());
  EXPECT_TRUE(wait(*call).ok());
  EXPECT_EQ(y, expected(x));
}

TEST_F(Values, TheBudgetCountsWhatCallsMake) {
  bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
  options.memory_budget = 20000;
  Session small = std::move(*createSession(artifact_, options));
  std::vector<float> x = ramp(4000);
  int64_t dims[] = {1000, 4}, few[] = {10, 4};
  bp_value_t in = hostValue(x.data(), dims),
             large = madeValue(BP_VALUE_ON_DEVICE);
  Status status = runValues(small, {&in}, {&large});
  EXPECT_EQ(status.code(), BP_STATUS_RESOURCE_EXHAUSTED) << status.message();
  EXPECT_EQ(large.release, nullptr);
  in.dims = few;
  bp_value_t fits = madeValue(BP_VALUE_ON_DEVICE);
  status = runValues(small, {&in}, {&fits});
  ASSERT_TRUE(status.ok()) << status.message();
  fits.release(fits.context);
}

TEST_F(Values, SessionsSayWhatTheyDo) {
  std::string text;
  bp_string_sink_t sink = {[](void *context, bp_string_t line) -> bp_status_t {
                             *static_cast<std::string *>(context) += view(line);
                             return BP_STATUS_OK;
                           },
                           &text};
  ASSERT_EQ(bp_session_explain(session_.get(), &sink, nullptr), BP_STATUS_OK);
  EXPECT_NE(text.find("values on host://cpu are used in place"),
            std::string::npos)
      << text;
}

} // namespace
