// SPDX-License-Identifier: Apache-2.0
#include "sdk/package/KernelPack.h"

#include <gtest/gtest.h>

using namespace backplane;

namespace {

Kernel sample() {
  KernelLaunch partial;
  partial.name = "partial";
  partial.grid = {"n", "m floordiv 4", "1"};
  partial.workspace = "64*n";
  partial.access = {1, 1, 2};
  partial.constantCount = 2;
  partial.workgroup = {64, 2, 1};
  partial.subgroupSize = 32;
  partial.driverData = {0, 255, 7};
  partial.parameters = {"m*n", "0-1"};
  partial.sharedBytes = "4*n";
  partial.cluster = {2, 1, 1};
  partial.bindings = {{0, "", ""}, {1, "64*n", "64"}, {0xFFFFFFFF, "", "n"}};
  KernelLaunch sum = partial;
  sum.name = "sum";
  sum.bindings = {{0xFFFFFFFF, "", ""}, {1, "", ""}, {2, "", ""}};
  Kernel kernel;
  kernel.code = {1, 2, 3, 4, 5};
  kernel.launches = {partial, sum};
  kernel.scratch = "16*m";
  kernel.initLaunches = {sum};
  kernel.persistentBytes = uint64_t(1) << 40;
  kernel.inPlace = {0, 1};
  return kernel;
}

TEST(KernelPack, ReadsWhatItWrites) {
  for (const Kernel &kernel : {sample(), Kernel()}) {
    auto read = unpackKernel(packKernel(kernel));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->code, kernel.code);
    EXPECT_EQ(read->launches, kernel.launches);
    EXPECT_EQ(read->scratch, kernel.scratch);
    EXPECT_EQ(read->initLaunches, kernel.initLaunches);
    EXPECT_EQ(read->persistentBytes, kernel.persistentBytes);
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
