// SPDX-License-Identifier: Apache-2.0
#include "sdk/package/KernelPack.h"

#include <gtest/gtest.h>

using namespace backplane;

namespace {

Kernel sample() {
  Kernel kernel;
  kernel.code = {1, 2, 3, 4, 5};
  kernel.name = "matmul";
  kernel.grid = {"n", "m floordiv 4", "1"};
  kernel.workspace = "64*n";
  kernel.access = {1, 1, 2};
  kernel.constantCount = 2;
  kernel.workgroup = {64, 2, 1};
  kernel.inPlace = {0, 1};
  return kernel;
}

TEST(KernelPack, ReadsWhatItWrites) {
  for (const Kernel &kernel : {sample(), Kernel()}) {
    auto read = unpackKernel(packKernel(kernel));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->code, kernel.code);
    EXPECT_EQ(read->name, kernel.name);
    EXPECT_EQ(read->grid, kernel.grid);
    EXPECT_EQ(read->workspace, kernel.workspace);
    EXPECT_EQ(read->access, kernel.access);
    EXPECT_EQ(read->constantCount, kernel.constantCount);
    EXPECT_EQ(read->workgroup, kernel.workgroup);
    EXPECT_EQ(read->inPlace, kernel.inPlace);
  }
}

TEST(KernelPack, TakesNoOtherBytes) {
  Bytes whole = packKernel(sample());
  for (size_t size = 0; size + 8 < whole.size(); ++size)
    EXPECT_FALSE(unpackKernel(std::span(whole).first(size))) << size;
  whole[4] ^= 1;
  EXPECT_FALSE(unpackKernel(whole)) << "another identifier";
}

} // namespace
