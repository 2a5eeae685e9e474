// SPDX-License-Identifier: Apache-2.0
//
// AllocatorTest.cpp: the sub-allocator on a device that is made up: a card with
// memory of its own beside that of the host.
#include "backends/vulkan/driver/Allocator.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace backplane::vulkan::test {
namespace {

constexpr uint64_t mebibyte = 1u << 20;
constexpr uint32_t onCard = 0, onHost = 1, cachedOnHost = 2;

/// What was taken from the card, and when it refuses.
struct Card {
  std::set<VkDeviceMemory> live;
  std::vector<uint32_t> types; ///< of all allocations
  uint64_t next = 1;
  bool full = false; ///< the card's own memory
};
Card card;

VkResult take(VkDevice, const VkMemoryAllocateInfo *info,
              const VkAllocationCallbacks *, VkDeviceMemory *out) {
  if (card.full && info->memoryTypeIndex == onCard)
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  *out = reinterpret_cast<VkDeviceMemory>(card.next++);
  card.live.insert(*out);
  card.types.push_back(info->memoryTypeIndex);
  return VK_SUCCESS;
}

void giveBack(VkDevice, VkDeviceMemory memory, const VkAllocationCallbacks *) {
  EXPECT_EQ(card.live.erase(memory), 1u);
}

/// Addresses that are aligned to 64 bytes and no more.
VkResult map(VkDevice, VkDeviceMemory memory, VkDeviceSize, VkDeviceSize,
             VkMemoryMapFlags, void **out) {
  auto number = reinterpret_cast<uint64_t>(memory);
  *out = reinterpret_cast<void *>((number << 32) + 64);
  return VK_SUCCESS;
}

class AllocatorTest : public ::testing::Test {
protected:
  void SetUp() override {
    card = {};
    physical_.memory.memoryHeapCount = 2;
    physical_.memory.memoryHeaps[0] = {8192 * mebibyte,
                                       VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    physical_.memory.memoryHeaps[1] = {8192 * mebibyte, 0};
    physical_.memory.memoryTypeCount = 3;
    constexpr VkMemoryPropertyFlags seen = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                           VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    physical_.memory.memoryTypes[onCard] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                            0};
    physical_.memory.memoryTypes[onHost] = {seen, 1};
    physical_.memory.memoryTypes[cachedOnHost] = {
        seen | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 1};
    vk_.vkAllocateMemory = take;
    vk_.vkFreeMemory = giveBack;
    vk_.vkMapMemory = map;
    allocator_ = std::make_unique<Allocator>(physical_, vk_, VkDevice(), false);
  }
  void TearDown() override {
    allocator_.reset();
    EXPECT_TRUE(card.live.empty());
  }
  Memory get(uint64_t size, bool staging = false) {
    Memory memory;
    EXPECT_EQ(allocator_->allocate({size, 256, 64, 7, staging}, memory),
              VK_SUCCESS);
    return memory;
  }

  PhysicalDevice physical_ = {};
  VolkDeviceTable vk_ = {};
  std::unique_ptr<Allocator> allocator_;
};

TEST_F(AllocatorTest, SharesABlockWithoutOverlap) {
  std::set<uint64_t> offsets;
  for (int i = 0; i < 100; ++i) {
    Memory memory = get(1000);
    EXPECT_EQ(memory.offset % 256, 0u);
    offsets.insert(memory.offset / 1024);
  }
  EXPECT_EQ(offsets.size(), 100u);
  EXPECT_EQ(card.live.size(), 1u);
  EXPECT_EQ(allocator_->reservedBytes(), 64 * mebibyte);
}

TEST_F(AllocatorTest, GivesLargeOnesMemoryOfTheirOwn) {
  Memory small = get(1000), large = get(100 * mebibyte);
  EXPECT_NE(small.handle, large.handle);
  EXPECT_EQ(large.offset, 0u);
  allocator_->release(large);
  EXPECT_EQ(card.live.size(), 1u);
  allocator_->release(small);
}

TEST_F(AllocatorTest, JoinsWhatIsFreed) {
  std::vector<Memory> all;
  for (int i = 0; i < 8; ++i)
    all.push_back(get(8 * mebibyte));
  EXPECT_EQ(card.live.size(), 1u);
  for (int i : {1, 3, 2}) // with a hole on each side, then in between
    allocator_->release(all[size_t(i)]);
  Memory joined = get(16 * mebibyte);
  EXPECT_EQ(joined.offset, 8 * mebibyte);
  EXPECT_EQ(card.live.size(), 1u);
}

TEST_F(AllocatorTest, KeepsOneEmptyBlock) {
  std::vector<Memory> all;
  for (int i = 0; i < 24; ++i)
    all.push_back(get(8 * mebibyte));
  EXPECT_EQ(card.live.size(), 3u);
  for (const Memory &memory : all)
    allocator_->release(memory);
  EXPECT_EQ(card.live.size(), 1u);
}

TEST_F(AllocatorTest, PutsWorkOnTheCardAndStagingOnTheHost) {
  Memory work = get(1000), staging = get(1000, true);
  EXPECT_EQ(card.types, (std::vector<uint32_t>{onCard, cachedOnHost}));
  EXPECT_EQ(work.mapped, nullptr);
  ASSERT_NE(staging.mapped, nullptr);
}

TEST_F(AllocatorTest, GoesToTheHostWhenTheCardIsFull) {
  card.full = true;
  Memory memory = get(100 * mebibyte);
  EXPECT_EQ(card.types, std::vector<uint32_t>{cachedOnHost});
  allocator_->release(memory);
}

TEST_F(AllocatorTest, AlignsWhatTheHostSees) {
  for (uint64_t alignment : {64u, 4096u, 65536u, 2097152u}) {
    Memory memory;
    ASSERT_EQ(allocator_->allocate({1000, 64, alignment, 7, true}, memory),
              VK_SUCCESS);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.mapped) % alignment, 0u);
    allocator_->release(memory);
  }
}

TEST_F(AllocatorTest, RefusesWhatNoHeapHas) {
  Memory memory;
  for (uint64_t size : {uint64_t(1) << 40, UINT64_MAX - 100, UINT64_MAX})
    EXPECT_EQ(allocator_->allocate({size, 256, 64, 7, false}, memory),
              VK_ERROR_OUT_OF_DEVICE_MEMORY);
  EXPECT_TRUE(card.live.empty());
}

} // namespace
} // namespace backplane::vulkan::test
