// SPDX-License-Identifier: Apache-2.0
#include "Recording.h"
#include "Barriers.h"

#include <algorithm>
#include <cstring>

namespace backplane::vulkan {

/// A pattern twice, so that it can be read from any byte of the first.
static constexpr uint64_t patternBytes = 8;

/// Scratch of a dispatch starts at multiples of this.
static constexpr uint64_t scratchAlignment = 256;

static uint64_t alignScratch(uint64_t bytes) {
  return (bytes + scratchAlignment - 1) / scratchAlignment * scratchAlignment;
}

static const EntryPoint &entryOf(const bp_command_dispatch_t &dispatch) {
  return dispatch.executable->entries[dispatch.entry];
}

/// A range of a buffer of Vulkan.
struct Place {
  VkBuffer buffer;
  uint64_t offset, length;
};

static Place resolve(const bp_binding_t &range) {
  const Buffer &buffer = of(*range.buffer);
  return {buffer.storage.handle, buffer.base + range.offset, range.length};
}

Recording::~Recording() {
  const VolkDeviceTable &vk = device_.vk;
  vk.vkDestroyCommandPool(device_.handle, pool_, nullptr);
  vk.vkDestroyDescriptorPool(device_.handle, descriptors_, nullptr);
  device_.destroy(control_);
  device_.destroy(scratch_);
}

uint64_t Recording::errorStride() const {
  constexpr uint64_t word = 4;
  return std::max(word,
                  device_.physical.limits.minStorageBufferOffsetAlignment);
}

VkResult Recording::fit(Storage &storage, uint64_t &capacity, uint64_t bytes,
                        bool staging) {
  if (bytes <= capacity)
    return VK_SUCCESS;
  device_.destroy(storage);
  storage = {};
  capacity = 0;
  uint64_t wanted = bytes + bytes / 2;
  VkResult result = device_.create(wanted, 64, staging, storage);
  if (!result)
    capacity = wanted;
  return result;
}

VkResult Recording::prepareDescriptors(uint32_t sets, uint32_t descriptors) {
  const VolkDeviceTable &vk = device_.vk;
  if (descriptors_ && sets <= maxSets_ && descriptors <= maxDescriptors_)
    return vk.vkResetDescriptorPool(device_.handle, descriptors_, 0);
  vk.vkDestroyDescriptorPool(device_.handle, descriptors_, nullptr);
  descriptors_ = VK_NULL_HANDLE;
  maxSets_ = sets + sets / 2;
  maxDescriptors_ = descriptors + descriptors / 2;
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                               maxDescriptors_};
  VkDescriptorPoolCreateInfo info = {
      VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  info.maxSets = maxSets_;
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  return vk.vkCreateDescriptorPool(device_.handle, &info, nullptr,
                                   &descriptors_);
}

VkResult Recording::prepareCommands() {
  const VolkDeviceTable &vk = device_.vk;
  if (pool_)
    return vk.vkResetCommandPool(device_.handle, pool_, 0);
  VkCommandPoolCreateInfo info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  info.queueFamilyIndex = device_.physical.queueFamily;
  VkCommandPool pool = VK_NULL_HANDLE;
  if (VkResult result =
          vk.vkCreateCommandPool(device_.handle, &info, nullptr, &pool))
    return result;
  VkCommandBufferAllocateInfo buffer = {
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  buffer.commandPool = pool;
  buffer.commandBufferCount = 1;
  VkResult result =
      vk.vkAllocateCommandBuffers(device_.handle, &buffer, &commands_);
  if (result)
    vk.vkDestroyCommandPool(device_.handle, pool, nullptr);
  else
    pool_ = pool;
  return result;
}

/// A descriptor set for each dispatch.
VkResult
Recording::allocateSets(std::span<const VkDescriptorSetLayout> layouts) {
  sets_.resize(layouts.size());
  if (sets_.empty())
    return VK_SUCCESS;
  VkDescriptorSetAllocateInfo info = {
      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  info.descriptorPool = descriptors_;
  info.descriptorSetCount = uint32_t(layouts.size());
  info.pSetLayouts = layouts.data();
  return device_.vk.vkAllocateDescriptorSets(device_.handle, &info,
                                             sets_.data());
}

/// Makes room for commands; nothing of earlier ones is left.
VkResult Recording::prepare(Commands commands) {
  std::vector<VkDescriptorSetLayout> layouts;
  uint32_t descriptors = 0;
  uint64_t scratch = 0, fills = 0;
  mayFail_ = false;
  for (const bp_header_t *command : commands) {
    fills += command->type == bp_command_fill_t_TYPE;
    if (command->type != bp_command_dispatch_t_TYPE)
      continue;
    auto dispatch = readStruct<bp_command_dispatch_t>(command);
    const EntryPoint &entry = entryOf(dispatch);
    layouts.push_back(entry.layout.set);
    descriptors += entry.bindings + 1 + entry.scratch;
    mayFail_ |= entry.reports;
    if (entry.scratch)
      scratch += alignScratch(gpu::scratchOf(dispatch, entry.workspaceBytes));
  }
  if (scratch >= gpu::maxScratch)
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
  ops_.clear();
  timed_.clear();
  nextScratch_ = 0;
  nextPattern_ = layouts.size() * errorStride();
  VkResult result = prepareCommands();
  if (!result)
    result =
        fit(control_, controlBytes_, nextPattern_ + fills * patternBytes, true);
  if (!result)
    result = fit(scratch_, scratchBytes_, scratch, false);
  if (!result && !layouts.empty())
    result = prepareDescriptors(uint32_t(layouts.size()), descriptors);
  return result ? result : allocateSets(layouts);
}

// ---- Commands ----

/// What the binding for scratch is.
VkDescriptorBufferInfo
Recording::scratchFor(const bp_command_dispatch_t &dispatch) {
  uint64_t bytes = gpu::scratchOf(dispatch, entryOf(dispatch).workspaceBytes);
  if (!bytes)
    return {device_.nothing.handle, 0, VK_WHOLE_SIZE};
  uint64_t offset = nextScratch_;
  nextScratch_ += alignScratch(bytes);
  return {scratch_.handle, offset, bytes};
}

void Recording::pushConstants(const bp_command_dispatch_t &dispatch,
                              VkPipelineLayout layout) {
  uint8_t constants[pushConstantBytes] = {};
  if (dispatch.constant_count)
    std::memcpy(constants, dispatch.constants,
                sizeof(uint32_t) * dispatch.constant_count);
  if (dispatch.parameter_count)
    std::memcpy(constants + parameterOffset(dispatch.constant_count),
                dispatch.parameters,
                sizeof(int64_t) * dispatch.parameter_count);
  device_.vk.vkCmdPushConstants(commands_, layout, VK_SHADER_STAGE_COMPUTE_BIT,
                                0, pushConstantBytes, constants);
}

void Recording::dispatch(const bp_command_dispatch_t &dispatch) {
  const VolkDeviceTable &vk = device_.vk;
  const EntryPoint &entry = entryOf(dispatch);
  VkDescriptorSet set = sets_[ops_.size()];
  std::vector<VkDescriptorBufferInfo> buffers;
  for (uint32_t i = 0; i < entry.bindings; ++i) {
    if (dispatch.bindings[i].length == 0) {
      buffers.push_back({device_.nothing.handle, 0, VK_WHOLE_SIZE});
      continue;
    }
    Place place = resolve(dispatch.bindings[i]);
    buffers.push_back({place.buffer, place.offset, place.length});
  }
  buffers.push_back({control_.handle, ops_.size() * errorStride(), 4});
  if (entry.scratch)
    buffers.push_back(scratchFor(dispatch));
  VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
  write.dstSet = set;
  write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  write.descriptorCount = uint32_t(buffers.size());
  write.pBufferInfo = buffers.data();
  vk.vkUpdateDescriptorSets(device_.handle, 1, &write, 0, nullptr);
  vk.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE,
                       entry.pipeline);
  vk.vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE,
                             entry.layout.pipeline, 0, 1, &set, 0, nullptr);
  pushConstants(dispatch, entry.layout.pipeline);
  vk.vkCmdDispatch(commands_, dispatch.grid[0], dispatch.grid[1],
                   dispatch.grid[2]);
  ops_.push_back(dispatch.op);
}

void Recording::copy(const bp_command_copy_t &copy) {
  if (!copy.target.length)
    return;
  Place from = resolve(copy.source), to = resolve(copy.target);
  VkBufferCopy region = {from.offset, to.offset, to.length};
  device_.vk.vkCmdCopyBuffer(commands_, from.buffer, to.buffer, 1, &region);
}

void Recording::copyPattern(uint64_t from, VkBuffer to, uint64_t offset,
                            uint64_t size) {
  VkBufferCopy region = {from, offset, size};
  if (size)
    device_.vk.vkCmdCopyBuffer(commands_, control_.handle, to, 1, &region);
}

/// The pattern of a fill, widened to four bytes.
static uint32_t patternOf(const bp_command_fill_t &fill) {
  if (fill.pattern_size == 1)
    return (fill.pattern & 0xFF) * 0x01010101u;
  return fill.pattern_size == 2 ? (fill.pattern & 0xFFFF) * 0x00010001u
                                : fill.pattern;
}

/// Vulkan fills whole words only; bytes in front of the first and behind the
/// last are copied.
void Recording::fill(const bp_command_fill_t &fill) {
  if (!fill.target.length)
    return;
  Place to = resolve(fill.target);
  uint32_t pattern = patternOf(fill), twice[2] = {pattern, pattern};
  std::memcpy(control_.memory.mapped + nextPattern_, twice, patternBytes);
  uint64_t head = std::min((4 - to.offset % 4) % 4, to.length);
  uint64_t body = (to.length - head) / 4 * 4;
  uint64_t tail = to.length - head - body;
  uint32_t word; // as it stands behind the head
  std::memcpy(&word, reinterpret_cast<uint8_t *>(twice) + head, sizeof(word));
  copyPattern(nextPattern_, to.buffer, to.offset, head);
  if (body)
    device_.vk.vkCmdFillBuffer(commands_, to.buffer, to.offset + head, body,
                               word);
  copyPattern(nextPattern_ + head, to.buffer, to.offset + head + body, tail);
  nextPattern_ += patternBytes;
}

void Recording::play(const bp_header_t *command) {
  switch (command->type) {
  case bp_command_dispatch_t_TYPE:
    return dispatch(readStruct<bp_command_dispatch_t>(command));
  case bp_command_copy_t_TYPE:
    return copy(readStruct<bp_command_copy_t>(command));
  case bp_command_fill_t_TYPE:
    return fill(readStruct<bp_command_fill_t>(command));
  default:
    return orderCommands(device_.vk, commands_);
  }
}

void Recording::play(Commands commands, bool timed) {
  orderCommands(device_.vk, commands_);
  for (size_t i = 0; i < commands.size(); ++i) {
    bool marked = timed && commands[i]->type != bp_command_barrier_t_TYPE;
    if (marked) {
      timed_.push_back(uint32_t(i));
      timing_.mark(commands_);
    }
    play(commands[i]);
    if (marked)
      timing_.mark(commands_);
  }
  showToHost(device_.vk, commands_);
}

VkResult Recording::record(Commands commands, std::span<const uint64_t> bound,
                           bool timed) {
  bound_.reset();
  if (VkResult result = prepare(commands))
    return result;
  VkCommandBufferBeginInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  if (VkResult result = device_.vk.vkBeginCommandBuffer(commands_, &info))
    return result;
  if (VkResult result =
          timing_.prepare(commands_, timed ? uint32_t(commands.size()) : 0))
    return result;
  play(commands, timed);
  if (VkResult result = device_.vk.vkEndCommandBuffer(commands_))
    return result;
  bound_.emplace(bound.begin(), bound.end());
  return VK_SUCCESS;
}

void Recording::rewind() {
  if (!ops_.empty())
    std::memset(control_.memory.mapped, 0, ops_.size() * errorStride());
}

// ---- After the run ----

gpu::Outcome Recording::wait() {
  VkSemaphoreWaitInfo info = {VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  info.semaphoreCount = 1;
  info.pSemaphores = &end.timeline;
  info.pValues = &end.value;
  VkResult result =
      device_.vk.vkWaitSemaphores(device_.handle, &info, UINT64_MAX);
  return result ? device_.outcomeOf(result) : gpu::Outcome();
}

uint32_t Recording::errorWord(size_t dispatch) const {
  uint32_t word;
  std::memcpy(&word, control_.memory.mapped + dispatch * errorStride(),
              sizeof(word));
  return word;
}

void Recording::readTimes(bp_timestamp_t *times) const {
  std::vector<bp_timestamp_t> read = timing_.read();
  for (size_t i = 0; i < read.size(); ++i)
    times[timed_[i]] = read[i];
}

} // namespace backplane::vulkan
