// SPDX-License-Identifier: Apache-2.0
//
// Calls whose tensors lie anywhere, on the host driver: y = (x + 7) * {1, 2, 3,
// 4} for x of f32[n, 4].
#include "Values.h"

#include <gtest/gtest.h>
#include <numeric>
#include <set>
#include <thread>

using namespace backplane;
using namespace backplane::test;

namespace {

class Values : public testing::Test {
protected:
  Values() {
    Draft draft;
    affine(draft);
    artifact_ = std::move(*test::open(context_, draft, folder_ / "model.bpx"));
    session_ =
        std::move(*createSession(artifact_, {BP_HEADER(bp_session_options_t)}));
  }
  DeviceBuffer buffer(uint64_t size) {
    bp_device_buffer_t *made = nullptr;
    Status status = checked([&](bp_error_t *error) {
      return bp_device_buffer_create(context_.get(), toC("host"), size, &made,
                                     error);
    });
    EXPECT_TRUE(status.ok()) << status.message();
    return DeviceBuffer(made);
  }
  Status run(const bp_value_t &x, bp_value_t &y) {
    return runValues(session_, {&x}, {&y});
  }
  Result<bp_call_t *> submit(const bp_value_t &x, bp_value_t &y) {
    const bp_value_t *in = &x;
    bp_value_t *out = &y;
    bp_call_t *call = nullptr;
    Status status = checked([&](bp_error_t *error) {
      return bp_session_submit_values(session_.get(), &in, 1, &out, 1, &call,
                                      error);
    });
    return status.ok() ? Result<bp_call_t *>(call) : status;
  }
  static Status wait(bp_call_t *call) {
    return checked(
        [&](bp_error_t *error) { return bp_call_wait(call, error); });
  }

  Folder folder_;
  Context context_ = hostContext();
  Artifact artifact_;
  Session session_;
};

std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.f);
  return values;
}

std::vector<float> expected(const std::vector<float> &x) {
  std::vector<float> y;
  for (size_t i = 0; i < x.size(); ++i)
    y.push_back((x[i] + 7) * float(i % 4 + 1));
  return y;
}

TEST_F(Values, DenseHostMemoryIsUsedInPlace) {
  std::vector<float> x = ramp(12), y(12);
  int64_t dims[] = {3, 4};
  bp_value_t in = hostValue(x.data(), dims), out = hostValue(y.data(), dims);
  Status status = run(in, out);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(y, expected(x));
}

TEST_F(Values, StridesAreFollowedOnBothSides) {
  // x is every second row of a larger array, from the last to the first; y is
  // written into the columns 1 to 4 of one.
  std::vector<float> whole = ramp(6 * 4), wide(3 * 6, -1), x;
  for (int row : {5, 3, 1})
    x.insert(x.end(), whole.begin() + row * 4, whole.begin() + row * 4 + 4);
  int64_t dims[] = {3, 4}, down[] = {-8, 1}, apart[] = {6, 1};
  bp_value_t in = hostValue(whole.data(), dims);
  in.strides = down;
  in.byte_offset = 5 * 4 * sizeof(float);
  bp_value_t out = hostValue(wide.data() + 1, dims);
  out.strides = apart;
  Status status = run(in, out);
  ASSERT_TRUE(status.ok()) << status.message();
  std::vector<float> y = expected(x);
  for (size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(wide[row * 6], -1) << "beside the result";
    EXPECT_EQ(wide[row * 6 + 5], -1) << "beside the result";
    for (size_t column = 0; column < 4; ++column)
      EXPECT_EQ(wide[row * 6 + 1 + column], y[row * 4 + column]);
  }
}

TEST_F(Values, TransposedAndBroadcastInputsArePacked) {
  std::vector<float> columns = ramp(8), one = {3};
  int64_t dims[] = {2, 4}, transposed[] = {1, 2}, still[] = {0, 0};
  std::vector<float> y(8);
  bp_value_t out = hostValue(y.data(), dims);
  bp_value_t in = hostValue(columns.data(), dims);
  in.strides = transposed;
  ASSERT_TRUE(run(in, out).ok());
  EXPECT_EQ(y, expected({0, 2, 4, 6, 1, 3, 5, 7}));
  in = hostValue(one.data(), dims);
  in.strides = still;
  ASSERT_TRUE(run(in, out).ok());
  EXPECT_EQ(y, expected(std::vector<float>(8, 3)));
}

TEST_F(Values, BuffersAreUsedAtAnyOffset) {
  std::vector<float> x = ramp(8), y(8);
  int64_t dims[] = {2, 4};
  // 64 is a binding offset of any device; 4 and 7 are copied.
  for (uint64_t offset : {0u, 64u, 4u, 7u}) {
    DeviceBuffer from = buffer(200), to = buffer(200);
    ASSERT_EQ(bp_device_buffer_write(from.get(), offset, x.data(), 32, nullptr),
              BP_STATUS_OK);
    bp_value_t in = bufferValue(from.get(), dims, offset);
    bp_value_t out = bufferValue(to.get(), dims, offset);
    Status status = run(in, out);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(bp_device_buffer_read(to.get(), offset, y.data(), 32, nullptr),
              BP_STATUS_OK);
    EXPECT_EQ(y, expected(x)) << offset;
  }
}

TEST_F(Values, BuffersHaveStridesToo) {
  std::vector<float> x = ramp(8), wide(16, -1);
  int64_t dims[] = {2, 4}, apart[] = {8, 1};
  DeviceBuffer to = buffer(64);
  ASSERT_EQ(bp_device_buffer_write(to.get(), 0, wide.data(), 64, nullptr),
            BP_STATUS_OK);
  bp_value_t in = hostValue(x.data(), dims), out = bufferValue(to.get(), dims);
  out.strides = apart;
  ASSERT_TRUE(run(in, out).ok());
  ASSERT_EQ(bp_device_buffer_read(to.get(), 0, wide.data(), 64, nullptr),
            BP_STATUS_OK);
  std::vector<float> y = expected(x);
  for (size_t i = 0; i < 16; ++i)
    EXPECT_EQ(wide[i], i % 8 < 4 ? y[i / 8 * 4 + i % 8] : -1) << i;
}

TEST_F(Values, ResultsAreMadeWhereTheyAreAskedFor) {
  std::vector<float> x = ramp(8), y(8);
  int64_t dims[] = {2, 4};
  bp_value_t in = hostValue(x.data(), dims);
  for (uint32_t where : {BP_VALUE_ON_HOST, BP_VALUE_ON_DEVICE}) {
    bp_value_t out = madeValue(where);
    Status status = run(in, out);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(out.kind, BP_VALUE_TENSOR);
    EXPECT_EQ(out.dtype, BP_DTYPE_F32);
    ASSERT_EQ(out.rank, 2u);
    EXPECT_EQ(out.dims[0], 2);
    EXPECT_EQ(out.dims[1], 4);
    EXPECT_EQ(out.data != nullptr, where == BP_VALUE_ON_HOST);
    EXPECT_EQ(out.buffer != nullptr, where == BP_VALUE_ON_DEVICE);
    readValue(out, y);
    EXPECT_EQ(y, expected(x));
    out.release(out.context);
  }
  bp_value_t nothing = {BP_HEADER(bp_value_t)};
  EXPECT_TRUE(run(in, nothing).ok()) << "an absent result is dropped";
  EXPECT_EQ(nothing.release, nullptr);
}

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

TEST_F(Values, WrongOnesAreRefusedByName) {
  std::vector<float> data(64);
  int64_t dims[] = {2, 4}, strides[] = {INT64_MAX / 2, INT64_MAX / 3};
  DeviceBuffer memory = buffer(100);
  bp_value_t good = hostValue(data.data(), dims);
  auto refusal = [&](bp_value_t in, bp_value_t out) {
    Status status = run(in, out);
    EXPECT_FALSE(status.ok());
    return status.message();
  };
  auto changed = [&](auto change) {
    bp_value_t value = good;
    change(value);
    return value;
  };
  const std::pair<const char *, bp_value_t> inputs[] = {
      {"sequence", changed([](auto &v) { v.kind = BP_VALUE_SEQUENCE; })},
      {"absent", changed([](auto &v) { v.kind = BP_VALUE_ABSENT; })},
      {"kind 9", changed([](auto &v) { v.kind = 9; })},
      {"flags 64", changed([](auto &v) { v.flags = 64; })},
      {"flags 2", changed([](auto &v) { v.flags = BP_VALUE_ON_DEVICE; })},
      {"dtype", changed([](auto &v) { v.dtype = 12345; })},
      {"rank", changed([](auto &v) { v.rank = 1000; })},
      {"dims is NULL", changed([](auto &v) { v.dims = nullptr; })},
      {"neither data", changed([](auto &v) { v.data = nullptr; })},
      {"and a buffer", changed([&](auto &v) { v.buffer = memory.get(); })},
      {"64 bits", changed([&](auto &v) { v.strides = strides; })},
      {"outside of a buffer", bufferValue(memory.get(), dims, 100)},
      {"outside of a buffer", bufferValue(memory.get(), dims, UINT64_MAX)},
  };
  for (const auto &[text, value] : inputs) {
    std::string message = refusal(value, good);
    EXPECT_NE(message.find(text), std::string::npos) << message;
    EXPECT_EQ(message.find("input 'x': "), 0u) << message;
  }
  const std::pair<const char *, bp_value_t> outputs[] = {
      {"must not be written",
       changed([](auto &v) { v.flags = BP_VALUE_READ_ONLY; })},
      {"asks for memory and has some",
       changed([](auto &v) { v.flags = BP_VALUE_ON_HOST; })},
      {"on the host and on the device",
       madeValue(BP_VALUE_ON_HOST | BP_VALUE_ON_DEVICE)},
      {"it is absent", changed([](auto &v) {
         v = {BP_HEADER(bp_value_t)};
         v.flags = BP_VALUE_ON_HOST;
       })},
      {"its header says",
       changed([](auto &v) { v.header.size = sizeof(bp_header_t) + 8; })},
  };
  for (const auto &[text, value] : outputs) {
    std::string message = refusal(good, value);
    EXPECT_NE(message.find(text), std::string::npos) << message;
    EXPECT_EQ(message.find("output 'y': "), 0u) << message;
  }
  EXPECT_NE(
      refusal(bufferValue(memory.get(), dims), bufferValue(memory.get(), dims))
          .find("overlaps"),
      std::string::npos);
}

TEST_F(Values, EmptyTensorsNeedNoMemory) {
  int64_t dims[] = {0, 4};
  bp_value_t in = hostValue(nullptr, dims);
  for (uint32_t where : {BP_VALUE_ON_HOST, BP_VALUE_ON_DEVICE}) {
    bp_value_t out = madeValue(where);
    Status status = run(in, out);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(out.dims[0], 0);
    out.release(out.context);
  }
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
