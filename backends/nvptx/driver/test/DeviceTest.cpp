// SPDX-License-Identifier: Apache-2.0
//
// DeviceTest.cpp: the driver through its tables, with PTX written by hand, on
// the emulator.
#include "Harness.h"

namespace cudatest {
namespace {

TEST_F(CudaDevice, PassesConstantsAndParameters) {
  ASSERT_EQ(load(affine("0")), "");
  std::vector<uint32_t> data(count);
  for (uint32_t i = 0; i < count; ++i)
    data[i] = i;
  memoryTable.buffer_write(device_, in_, 0, data.data(), 4 * count, nullptr);
  bp_timestamp_t times = {};
  Answer outcome = dispatch(groups, &times);
  ASSERT_EQ(outcome.status, BP_STATUS_OK) << outcome.message;
  EXPECT_GT(times.begin_ns, 0u);
  EXPECT_GE(times.end_ns, times.begin_ns);
  memoryTable.buffer_read(device_, out_, 0, data.data(), 4 * count, nullptr);
  for (uint32_t i = 0; i < count; ++i)
    EXPECT_EQ(data[i], 3 * i + 7);
}

TEST_F(CudaDevice, NamesTheOpOfAnErrorWord) {
  uint32_t zeros[count] = {};
  memoryTable.buffer_write(device_, in_, 0, zeros, sizeof(zeros), nullptr);
  ASSERT_EQ(load(affine("0x01000000")), "");
  Answer outcome = dispatch(groups, nullptr);
  EXPECT_EQ(outcome.status, BP_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(outcome.message, "op 5: an index is out of range");
}

TEST_F(CudaDevice, RefusesWhatDoesNotFit) {
  EXPECT_NE(load(affine("0"), 0)
                .find("has 6 parameters that are not those of "
                      "2 bindings, 1 constants and 0"),
            std::string::npos);
  EXPECT_NE(load("no PTX").find("damaged blob"), std::string::npos);
  std::string text = affine("0");
  EXPECT_NE(load(text.replace(text.find("mad.lo"), 6, "mad.xy"))
                .find("the device's driver refuses the PTX"),
            std::string::npos);
}

/// A store beyond a buffer loses the device, with the emulator's words for it;
/// what is opened afterwards works.
TEST_F(CudaDevice, IsLostAfterAFault) {
  ASSERT_EQ(load(affine("0")), "");
  Answer outcome = dispatch(groups + 1, nullptr);
  EXPECT_EQ(outcome.status, BP_STATUS_UNAVAILABLE);
  EXPECT_NE(outcome.message.find("CUDA_ERROR_ILLEGAL_ADDRESS"),
            std::string::npos)
      << outcome.message;
  EXPECT_NE(outcome.message.find("affine"), std::string::npos)
      << outcome.message;
  Answer later = dispatch(groups, nullptr);
  EXPECT_EQ(later.status, BP_STATUS_UNAVAILABLE);
  EXPECT_EQ(later.message.find("the CUDA device is lost: "), 0u)
      << later.message;
  close();
  open("80");
  ASSERT_EQ(load(affine("0")), "");
  Answer fresh = dispatch(groups, nullptr);
  EXPECT_EQ(fresh.status, BP_STATUS_OK) << fresh.message;
}

} // namespace
} // namespace cudatest
