// SPDX-License-Identifier: Apache-2.0
#include "tools/bp/Npy.h"

#include <gtest/gtest.h>

using namespace backplane;

TEST(Npy, EmptyTensorMayHaveHugeDims) {
  int64_t huge = INT64_MAX / 2;
  auto tensor = Tensor::create(BP_DTYPE_F32, {huge, huge, 0, huge});
  ASSERT_TRUE(tensor.ok()) << tensor.message();
  EXPECT_EQ(tensor->elements(), 0);
  EXPECT_EQ(tensor->size(), 0u);
}

TEST(Npy, HugeTensorIsRefused) {
  EXPECT_FALSE(Tensor::create(BP_DTYPE_F32, {INT64_MAX / 2, 8}).ok());
}
