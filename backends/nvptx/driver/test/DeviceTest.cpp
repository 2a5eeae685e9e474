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

/// `affine` with as many maps of tensors as it says, and what lies beside it.
std::string withMaps(int count, const std::string &beside) {
  std::string text = affine("0"), maps = ".param .u64 parameter";
  for (int i = 0; i < count; ++i)
    maps += ", .param .align 64 .b8 map" + std::to_string(i) + "[128]";
  text.replace(text.find(".param .u64 parameter"), 21, maps);
  return text.insert(text.find(".visible"), beside);
}

std::string numbersBeside(const std::string &numbers) {
  return ".global .align 8 .u64 affine_tensors[] = {" + numbers + "};\n";
}

TEST_F(CudaDevice, LoadsWhatLiesBesideAKernel) {
  close();
  open("90");
  // 4 x 32 words behind binding 1, as many as it has.
  EXPECT_EQ(load(withMaps(1, numbersBeside("1, 1, 4, 2, 32, 4, 128, 32, 4"))),
            "");
  Answer outcome = dispatch(groups, nullptr);
  EXPECT_EQ(outcome.status, BP_STATUS_OK) << outcome.message;
}

TEST_F(CudaDevice, RefusesATensorBehindItsBinding) {
  close();
  open("90");
  ASSERT_EQ(load(withMaps(1, numbersBeside("1, 1, 4, 2, 32, 5, 128, 32, 4"))),
            "");
  Answer outcome = dispatch(groups, nullptr);
  EXPECT_EQ(outcome.status, BP_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("binding 1, which has 512"), std::string::npos)
      << outcome.message;
}

TEST_F(CudaDevice, RefusesWhatIsDamagedBesideAKernel) {
  close();
  open("90");
  const std::string good = "1, 0, 4, 2, 16, 8, 64, 16, 8";
  for (const std::string &numbers :
       {std::string("0"), std::string("1"), good + ", 1",
        std::string("1, 2, 4, 2, 16, 8, 64, 16, 8"),
        std::string("1, 0, 4, 2, 16, 8, 64, 0, 8"),
        std::string("0xFFFFFFFFFFFFFFFF, 0, 4, 2, 16, 8, 64, 16, 8")})
    EXPECT_NE(load(withMaps(1, numbersBeside(numbers)))
                  .find("entry \"affine\": damaged blob"),
              std::string::npos)
        << numbers;
  EXPECT_NE(load(withMaps(2, numbersBeside(good)))
                .find("has 2 maps of tensors, affine_tensors tells of 1"),
            std::string::npos);
  EXPECT_NE(load(withMaps(1, "")).find("affine_tensors"), std::string::npos);
  EXPECT_NE(load(withMaps(1, ".global .b8 affine_tensors[5000];\n"))
                .find("has 5000 bytes"),
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
