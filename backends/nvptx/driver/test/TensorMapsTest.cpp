// SPDX-License-Identifier: Apache-2.0
#include "../TensorMaps.h"

#include <gtest/gtest.h>

using namespace backplane::cuda;

namespace {

// One matrix of 300 x 72 halves behind binding 1, in blocks of 64 x 128.
const std::vector<int64_t> matrix = {1, 1, 2, 2, 72, 300, 144, 64, 128};

std::vector<TensorDescription> read(const std::vector<int64_t> &words) {
  std::vector<TensorDescription> tensors;
  std::string reason;
  EXPECT_TRUE(readTensors(words, 3, tensors, &reason)) << reason;
  return tensors;
}

bool isRefused(const std::vector<int64_t> &words) {
  std::vector<TensorDescription> tensors;
  std::string reason;
  return !readTensors(words, 3, tensors, &reason) && !reason.empty();
}

TEST(TensorMaps, ReadsWhatLiesBesideAKernel) {
  auto tensors = read(matrix);
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors[0].binding, 1u);
  EXPECT_EQ(tensors[0].sizes, (std::vector<cuuint64_t>{72, 300}));
  EXPECT_EQ(tensors[0].block, (std::vector<cuuint32_t>{64, 128}));
  EXPECT_EQ(tensors[0].bytes, 300u * 144);
}

TEST(TensorMaps, BlocksHaveOneElementOfFurtherAxes) {
  auto tensors = read({1, 0, 2, 4, 64, 48, 3, 2, 128, 6144, 18432, 64, 48});
  ASSERT_EQ(tensors.size(), 1u);
  EXPECT_EQ(tensors[0].block, (std::vector<cuuint32_t>{64, 48, 1, 1}));
  EXPECT_EQ(tensors[0].bytes, 36864u);
}

TEST(TensorMaps, RefusesEveryPartOfADescription) {
  for (size_t size = 0; size < matrix.size(); ++size)
    EXPECT_TRUE(isRefused({matrix.begin(), matrix.begin() + ptrdiff_t(size)}));
  auto longer = matrix;
  longer.push_back(1);
  EXPECT_TRUE(isRefused(longer));
}

TEST(TensorMaps, RefusesNumbersOutOfRange) {
  for (size_t at = 0; at < matrix.size(); ++at)
    for (int64_t value : {int64_t(-1), INT64_MAX, INT64_MIN}) {
      auto damaged = matrix;
      damaged[at] = value;
      EXPECT_TRUE(isRefused(damaged)) << at << " = " << value;
    }
  auto other = matrix;
  other[1] = 3;
  EXPECT_TRUE(isRefused(other)) << "there is no binding 3";
}

TEST(TensorMaps, RefusesSizesWhoseBytesOverflow) {
  const int64_t size = int64_t(1) << 32, stride = (int64_t(1) << 40) - 1;
  EXPECT_TRUE(isRefused({1, 0, 2, 2, 64, size, stride, 64, 64}));
}

} // namespace
