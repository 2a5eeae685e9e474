// SPDX-License-Identifier: Apache-2.0
//
// Tensors of other frameworks, declared here as DLPack 1 has them.
#include "Values.h"

#include <numeric>

using namespace backplane;
using namespace backplane::test;

struct DLManagedTensorVersioned {
  uint32_t major = 1, minor = 1;
  void *context = nullptr;
  void (*deleter)(DLManagedTensorVersioned *) = nullptr;
  uint64_t flags = 0;
  void *data = nullptr;
  int32_t deviceType = 1, deviceId = 0;
  int32_t rank = 2;
  uint8_t code = 2, bits = 32;
  uint16_t lanes = 1;
  int64_t *dims = nullptr, *strides = nullptr;
  uint64_t byteOffset = 0;
};

namespace {

void count(DLManagedTensorVersioned *tensor) {
  ++*static_cast<int *>(tensor->context);
}

class Dlpack : public testing::Test {
protected:
  Dlpack() {
    std::iota(data_.begin(), data_.end(), 0.f);
    tensor_.context = &deleted_;
    tensor_.deleter = count;
    tensor_.data = data_.data();
    tensor_.dims = dims_;
  }
  Status read(bp_value_t &out) {
    return checked([&](bp_error_t *error) {
      return bp_value_from_dlpack(&tensor_, &out, error);
    });
  }
  static Result<DLManagedTensorVersioned *> write(const bp_value_t &value) {
    DLManagedTensorVersioned *tensor = nullptr;
    Status status = checked([&](bp_error_t *error) {
      return bp_value_to_dlpack(&value, &tensor, error);
    });
    return status.ok() ? Result<DLManagedTensorVersioned *>(tensor) : status;
  }

  std::vector<float> data_ = std::vector<float>(12);
  int64_t dims_[2] = {3, 4}, strides_[2] = {4, 1};
  int deleted_ = 0;
  DLManagedTensorVersioned tensor_;
};

TEST_F(Dlpack, ATensorIsAValueWithoutACopy) {
  for (int64_t *strides : {static_cast<int64_t *>(nullptr), strides_}) {
    deleted_ = 0;
    tensor_.strides = strides;
    bp_value_t value;
    Status status = read(value);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(value.data, data_.data());
    EXPECT_EQ(value.dims, dims_);
    EXPECT_EQ(value.strides, nullptr) << "dense";
    EXPECT_EQ(value.flags, 0u);
    EXPECT_EQ(deleted_, 0);
    value.release(value.context);
    EXPECT_EQ(deleted_, 1);
  }
}

TEST_F(Dlpack, TheFlagOfReadOnlyTensorsIsKept) {
  tensor_.flags = 1;
  bp_value_t value;
  ASSERT_TRUE(read(value).ok());
  EXPECT_EQ(value.flags, BP_VALUE_READ_ONLY);
  auto back = write(value);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ((*back)->flags, 1u);
  (*back)->deleter(*back);
}

TEST_F(Dlpack, AValueIsATensorAndBackAgain) {
  tensor_.byteOffset = 8;
  dims_[0] = 2;
  dims_[1] = 3;
  strides_[0] = 1;
  strides_[1] = 2;
  tensor_.strides = strides_;
  bp_value_t value;
  Status status = read(value);
  ASSERT_TRUE(status.ok()) << status.message();
  auto back = write(value);
  ASSERT_TRUE(back.ok()) << back.message();
  const DLManagedTensorVersioned &t = **back;
  EXPECT_EQ(t.major, 1u);
  EXPECT_EQ(t.data, data_.data());
  EXPECT_EQ(t.byteOffset, 8u);
  EXPECT_EQ(t.deviceType, 1);
  EXPECT_EQ(t.rank, 2);
  EXPECT_EQ(t.code, 2);
  EXPECT_EQ(t.bits, 32);
  EXPECT_EQ(t.lanes, 1);
  EXPECT_TRUE(t.dims[0] == 2 && t.dims[1] == 3);
  EXPECT_TRUE(t.strides[0] == 1 && t.strides[1] == 2);
  EXPECT_EQ(deleted_, 0);
  (*back)->deleter(*back);
  EXPECT_EQ(deleted_, 1) << "the tensor had taken the value over";
}

TEST_F(Dlpack, SmallFloatsHaveTypeCodes) {
  const std::tuple<uint8_t, uint8_t, bp_dtype_t> types[] = {
      {10, 8, BP_DTYPE_F8E4M3FN},  {11, 8, BP_DTYPE_F8E4M3FNUZ},
      {12, 8, BP_DTYPE_F8E5M2},    {13, 8, BP_DTYPE_F8E5M2FNUZ},
      {14, 8, BP_DTYPE_F8E8M0FNU}, {17, 4, BP_DTYPE_F4E2M1FN}};
  for (auto [code, bits, dtype] : types) {
    tensor_.code = code;
    tensor_.bits = bits;
    bp_value_t value;
    Status status = read(value);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(value.dtype, dtype);
    auto back = write(value);
    ASSERT_TRUE(back.ok()) << back.message();
    EXPECT_EQ((*back)->code, code);
    EXPECT_EQ((*back)->bits, bits);
    (*back)->deleter(*back);
  }
}

TEST_F(Dlpack, MappedMemoryOfDevicesIsExported) {
  Context context = hostContext();
  bp_device_buffer_t *raw = nullptr;
  ASSERT_EQ(
      bp_device_buffer_create(context.get(), toC("host"), 48, &raw, nullptr),
      BP_STATUS_OK);
  DeviceBuffer buffer(raw);
  auto tensor = write(bufferValue(raw, dims_));
  ASSERT_TRUE(tensor.ok()) << tensor.message();
  EXPECT_EQ((*tensor)->data, bp_device_buffer_map(raw));
  EXPECT_TRUE((*tensor)->strides[0] == 4 && (*tensor)->strides[1] == 1);
  (*tensor)->deleter(*tensor);
}

TEST_F(Dlpack, WhatHasNoCounterpartIsRefused) {
  auto refused = [&](const char *text, auto change) {
    DLManagedTensorVersioned good = tensor_;
    change(tensor_);
    bp_value_t value;
    Status status = read(value);
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_NE(status.message().find(text), std::string::npos)
        << status.message();
    EXPECT_EQ(deleted_, 0) << "the caller keeps it";
    tensor_ = good;
  };
  using T = DLManagedTensorVersioned;
  refused("DLPack 2.0", [](T &t) { t.major = 2, t.minor = 0; });
  refused("device of DLPack type 2", [](T &t) { t.deviceType = 2; });
  refused("4 lanes", [](T &t) { t.lanes = 4; });
  refused("code 5", [](T &t) { t.code = 5, t.bits = 128; });
  refused("24 bits", [](T &t) { t.bits = 24; });
  refused("byte of its own", [](T &t) {
    t.code = 0;
    t.bits = 4;
    t.flags = 4;
  });
  refused("rank -3", [](T &t) { t.rank = -3; });
  refused("rank 2000", [](T &t) { t.rank = 2000; });
  refused("dims is NULL", [](T &t) { t.dims = nullptr; });
  refused("neither data", [](T &t) { t.data = nullptr; });
  int64_t negative[] = {-1, 4}, vast[] = {INT64_MAX, INT64_MAX};
  refused("", [&](T &t) { t.dims = negative; });
  refused("", [&](T &t) { t.dims = vast; });
}

TEST_F(Dlpack, ValuesThatAreNoTensorsAreRefused) {
  bp_value_t value = {BP_HEADER(bp_value_t)};
  EXPECT_FALSE(write(value).ok());
  bp_timeline_t *timeline = nullptr;
  ASSERT_EQ(bp_timeline_create(&timeline, nullptr), BP_STATUS_OK);
  value = hostValue(data_.data(), dims_);
  value.ready = timeline;
  value.ready_value = 1;
  auto early = write(value);
  EXPECT_EQ(early.code(), BP_STATUS_FAILED_PRECONDITION);
  ASSERT_EQ(bp_timeline_signal(timeline, 1, nullptr), BP_STATUS_OK);
  auto now = write(value);
  ASSERT_TRUE(now.ok()) << now.message();
  (*now)->deleter(*now);
  bp_timeline_destroy(timeline);
}

} // namespace
