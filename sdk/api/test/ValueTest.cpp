// SPDX-License-Identifier: Apache-2.0
//
// Calls whose tensors lie anywhere.
#include "ValueCalls.h"

using namespace backplane;
using namespace backplane::test;

namespace {

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

} // namespace
