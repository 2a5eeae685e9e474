// SPDX-License-Identifier: Apache-2.0
#include "hal/worker/GuardedMemory.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace backplane::worker;

namespace {

GuardedMemory make(uint64_t bytes) {
  auto memory = GuardedMemory::create(bytes);
  EXPECT_TRUE(memory.ok()) << memory.message();
  return std::move(*memory);
}

TEST(GuardedMemory, IsAlignedAndAllItsOwn) {
  for (uint64_t bytes : {0, 1, 63, 64, 4096, 4097, 1000000}) {
    GuardedMemory memory = make(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 64, 0u);
    std::memset(memory.data(), 1, bytes);
    EXPECT_TRUE(memory.intact()) << bytes;
  }
}

TEST(GuardedMemory, NoticesTheByteBehindAndInFront) {
  GuardedMemory behind = make(100), front = make(100);
  behind.data()[100] = 0;
  EXPECT_FALSE(behind.intact());
  front.data()[-1] = 0;
  EXPECT_FALSE(front.intact());
}

TEST(GuardedMemoryDeathTest, StopsAWriteBehindTheLastLine) {
  GuardedMemory memory = make(4096);
  EXPECT_DEATH(memory.data()[4096] = 1, "");
  EXPECT_DEATH(memory.data()[-1] = 1, "");
}

TEST(GuardedMemory, RefusesWhatThereIsNot) {
  EXPECT_FALSE(GuardedMemory::create(UINT64_MAX));
  EXPECT_FALSE(GuardedMemory::create((uint64_t(1) << 40) + 1));
}

} // namespace
