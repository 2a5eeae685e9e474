// SPDX-License-Identifier: Apache-2.0
#include "Allocator.h"

#include <algorithm>

namespace backplane::vulkan {

/// Device memory that several buffers share.
struct Block {
  VkDeviceMemory memory;
  uint8_t *mapped;
  uint64_t size;
  uint32_t type;
  bool staging; ///< what the host hides or shows is kept apart
  std::map<uint64_t, uint64_t> free; ///< offset to size, no two of them touch

  /// First fit; false when there is no room.
  bool take(uint64_t bytes, uint64_t alignment, uint64_t shift, uint64_t &out);
  void give(uint64_t offset, uint64_t bytes);
};

/// The first offset from `begin` on where (offset + shift) is aligned.
static uint64_t alignUp(uint64_t begin, uint64_t alignment, uint64_t shift) {
  return ((begin + shift + alignment - 1) & ~(alignment - 1)) - shift;
}

bool Block::take(uint64_t bytes, uint64_t alignment, uint64_t shift,
                 uint64_t &out) {
  for (auto [offset, room] : free) {
    uint64_t start = alignUp(offset, alignment, shift);
    uint64_t lost = start - offset;
    if (lost > room || bytes > room - lost)
      continue;
    free.erase(offset);
    if (lost)
      free[offset] = lost;
    if (room - lost > bytes)
      free[start + bytes] = room - lost - bytes;
    out = start;
    return true;
  }
  return false;
}

void Block::give(uint64_t offset, uint64_t bytes) {
  auto next = free.lower_bound(offset);
  if (next != free.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = free.erase(next);
  }
  if (next != free.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free[offset] = bytes;
}

Allocator::Allocator(const PhysicalDevice &physical, const VolkDeviceTable &vk,
                     VkDevice device, bool hidden)
    : physical_(physical), vk_(vk), device_(device), hidden_(hidden) {}

Allocator::~Allocator() {
  for (const Block &block : blocks_)
    vk_.vkFreeMemory(device_, block.memory, nullptr);
}

uint64_t Allocator::reservedBytes() const {
  std::lock_guard lock(mutex_);
  return reserved_;
}

static constexpr VkMemoryPropertyFlags hostShared =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

bool Allocator::shown(uint32_t type) const {
  return (physical_.memory.memoryTypes[type].propertyFlags & hostShared) ==
         hostShared;
}

uint64_t Allocator::blockBytes(uint32_t type) const {
  constexpr uint64_t usual = 64u << 20;
  uint32_t heap = physical_.memory.memoryTypes[type].heapIndex;
  return std::min(usual, physical_.memory.memoryHeaps[heap].size / 8);
}

/// How well a type of memory serves; negative: not at all. What the host is
/// not shown need not be where it could see it, which is scarce on cards.
static int rate(VkMemoryPropertyFlags flags, bool staging, bool hidden) {
  bool local = flags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
  bool seen = (flags & hostShared) == hostShared;
  bool cached = flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  constexpr VkMemoryPropertyFlags odd = VK_MEMORY_PROPERTY_PROTECTED_BIT |
                                        VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT;
  if (flags & odd || (staging && !seen))
    return -1;
  if (staging)
    return 4 * cached + local + 1;
  return 8 * local + (hidden ? !seen : 2 * seen + cached);
}

/// The best type above none of `skip`, a set of types that were tried.
bool Allocator::chooseType(const MemoryNeed &need, uint32_t skip,
                           uint32_t &out) const {
  int best = -1;
  for (uint32_t i = 0; i < physical_.memory.memoryTypeCount; ++i) {
    if (!(need.typeBits >> i & 1) || skip >> i & 1)
      continue;
    const VkMemoryType &type = physical_.memory.memoryTypes[i];
    if (need.size > physical_.memory.memoryHeaps[type.heapIndex].size)
      continue;
    if (int grade = rate(type.propertyFlags, need.staging, hidden_);
        grade > best) {
      best = grade;
      out = i;
    }
  }
  return best >= 0;
}

VkResult Allocator::takeMemory(uint32_t type, uint64_t size,
                               VkDeviceMemory *out, uint8_t **mapped) {
  VkMemoryAllocateInfo info = {VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  info.allocationSize = size;
  info.memoryTypeIndex = type;
  VkResult result = vk_.vkAllocateMemory(device_, &info, nullptr, out);
  if (result)
    return result;
  *mapped = nullptr;
  void *pointer = nullptr;
  if (shown(type) && vk_.vkMapMemory(device_, *out, 0, VK_WHOLE_SIZE, 0,
                                     &pointer) == VK_SUCCESS)
    *mapped = static_cast<uint8_t *>(pointer);
  reserved_ += size;
  return VK_SUCCESS;
}

void Allocator::giveBack(VkDeviceMemory memory, uint64_t size) {
  vk_.vkFreeMemory(device_, memory, nullptr);
  reserved_ -= size;
}

/// Device offsets and host addresses are aligned at once: what is added to an
/// offset before it is rounded.
static uint64_t shiftOf(const uint8_t *mapped, const MemoryNeed &need) {
  uint64_t shift = reinterpret_cast<uintptr_t>(mapped) &
                   (std::max(need.alignment, need.hostAlignment) - 1);
  return shift % need.alignment ? 0 : shift;
}

VkResult Allocator::allocateFrom(uint32_t type, const MemoryNeed &need,
                                 Memory &out) {
  uint64_t alignment = std::max(need.alignment, need.hostAlignment);
  bool show = shown(type) && (need.staging || !hidden_);
  uint64_t whole = blockBytes(type), place = 0;
  auto use = [&](Block *block, VkDeviceMemory memory, uint8_t *mapped) {
    out = {memory, place, need.size, show && mapped ? mapped + place : nullptr,
           block};
    return VK_SUCCESS;
  };
  // What would waste much of a block, or hardly fits one, stands alone.
  bool alone = need.size > whole / 4 || alignment > whole / 16;
  for (Block &block : blocks_)
    if (!alone && block.type == type && block.staging == need.staging &&
        block.take(need.size, alignment, shiftOf(block.mapped, need), place))
      return use(&block, block.memory, block.mapped);
  VkDeviceMemory memory;
  uint8_t *mapped;
  uint64_t bytes = alone ? need.size + alignment : whole;
  if (bytes < need.size)
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  if (VkResult result = takeMemory(type, bytes, &memory, &mapped))
    return result;
  if (alone) {
    place = alignUp(0, alignment, shiftOf(mapped, need));
    use(nullptr, memory, mapped);
    out.size = bytes;
    return VK_SUCCESS;
  }
  Block &block = blocks_.emplace_back(
      Block{memory, mapped, whole, type, need.staging, {{0, whole}}});
  block.take(need.size, alignment, shiftOf(mapped, need), place);
  return use(&block, memory, mapped);
}

VkResult Allocator::allocate(const MemoryNeed &need, Memory &out) {
  std::lock_guard lock(mutex_);
  VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  uint32_t type = 0;
  for (uint32_t tried = 0; chooseType(need, tried, type); tried |= 1u << type) {
    result = allocateFrom(type, need, out);
    if (result != VK_ERROR_OUT_OF_DEVICE_MEMORY)
      return result;
  }
  return result;
}

void Allocator::release(const Memory &memory) {
  std::lock_guard lock(mutex_);
  if (!memory.block)
    return giveBack(memory.handle, memory.size);
  Block &block = *memory.block;
  block.give(memory.offset, memory.size);
  bool empty = block.free.begin()->second == block.size;
  if (!empty)
    return;
  // One empty block of a kind is kept for whoever comes next.
  auto same = [&](const Block &other) {
    return &other != &block && other.type == block.type &&
           other.staging == block.staging &&
           other.free.begin() != other.free.end() &&
           other.free.begin()->second == other.size;
  };
  if (std::none_of(blocks_.begin(), blocks_.end(), same))
    return;
  giveBack(block.memory, block.size);
  blocks_.remove_if([&](const Block &other) { return &other == &block; });
}

} // namespace backplane::vulkan
