// SPDX-License-Identifier: Apache-2.0
#include "Recording.h"
#include "Barriers.h"

#include <algorithm>
#include <cstring>

namespace backplane::vulkan {

/// A pattern twice, so that it can be read from any byte of the first.
static constexpr uint64_t patternBytes = 8;

/// A range of a buffer of Vulkan.
struct Place {
  const bp_buffer_t *buffer;
  uint64_t offset, length;
};

static Place resolve(const bp_binding_t &range, const bp_binding_t *table) {
  const bp_buffer_t *buffer = range.buffer;
  uint64_t offset = range.offset;
  if (!buffer) {
    buffer = table[range.slot].buffer;
    offset += table[range.slot].offset;
  }
  return {buffer, buffer->base + offset, range.length};
}

Recording::Recording(bp_device_t &device) : device_(device), timing_(device) {}

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

VkResult Recording::prepareDescriptors(const PreparedCommands &program) {
  const VolkDeviceTable &vk = device_.vk;
  if (descriptors_ && program.dispatches <= maxSets_ &&
      program.descriptors <= maxDescriptors_)
    return vk.vkResetDescriptorPool(device_.handle, descriptors_, 0);
  vk.vkDestroyDescriptorPool(device_.handle, descriptors_, nullptr);
  descriptors_ = VK_NULL_HANDLE;
  maxSets_ = program.dispatches + program.dispatches / 2;
  maxDescriptors_ = program.descriptors + program.descriptors / 2;
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

/// Makes room for a program; nothing of an earlier one is left.
VkResult Recording::prepare(const PreparedCommands &program) {
  const VolkDeviceTable &vk = device_.vk;
  VkResult result = VK_SUCCESS;
  if (!pool_) {
    VkCommandPoolCreateInfo info = {VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    info.queueFamilyIndex = device_.physical.queueFamily;
    result = vk.vkCreateCommandPool(device_.handle, &info, nullptr, &pool_);
  } else {
    result = vk.vkResetCommandPool(device_.handle, pool_, 0);
  }
  if (!result && !commands_) {
    VkCommandBufferAllocateInfo info = {
        VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    info.commandPool = pool_;
    info.commandBufferCount = 1;
    result = vk.vkAllocateCommandBuffers(device_.handle, &info, &commands_);
  }
  uint64_t control =
      program.dispatches * errorStride() + program.fills * patternBytes;
  if (!result)
    result = fit(control_, controlBytes_, control, true);
  if (!result)
    result = fit(scratch_, scratchBytes_, program.scratch, false);
  if (!result && program.dispatches)
    result = prepareDescriptors(program);
  return result;
}

/// Allocates a descriptor set for each dispatch.
static VkResult allocateSets(const bp_device_t &device,
                             const PreparedCommands &program,
                             VkDescriptorPool pool,
                             std::vector<VkDescriptorSet> &sets) {
  std::vector<VkDescriptorSetLayout> layouts;
  for (const PreparedCommand &step : program.steps)
    if (step.kind == PreparedCommand::Dispatch)
      layouts.push_back(step.entry->layout.set);
  sets.resize(layouts.size());
  if (sets.empty())
    return VK_SUCCESS;
  VkDescriptorSetAllocateInfo info = {
      VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
  info.descriptorPool = pool;
  info.descriptorSetCount = uint32_t(layouts.size());
  info.pSetLayouts = layouts.data();
  return device.vk.vkAllocateDescriptorSets(device.handle, &info, sets.data());
}

void Recording::dispatch(const PreparedCommands &program,
                         const PreparedCommand &step,
                         const bp_binding_t *table) {
  const VolkDeviceTable &vk = device_.vk;
  const EntryPoint &entry = *step.entry;
  std::vector<VkDescriptorBufferInfo> buffers;
  for (uint32_t i = 0; i < entry.bindings; ++i) {
    const bp_binding_t &range = program.ranges[step.ranges + i];
    if (range.length == 0) {
      buffers.push_back({device_.nothing.handle, 0, VK_WHOLE_SIZE});
      continue;
    }
    Place place = resolve(range, table);
    buffers.push_back(
        {place.buffer->storage.handle, place.offset, place.length});
  }
  buffers.push_back({control_.handle, nextDispatch_ * errorStride(), 4});
  if (entry.scratch && !step.workspace)
    buffers.push_back({device_.nothing.handle, 0, VK_WHOLE_SIZE});
  if (entry.scratch && step.workspace) {
    uint64_t bytes =
        step.workspace * step.grid[0] * step.grid[1] * step.grid[2];
    buffers.push_back({scratch_.handle, nextScratch_, bytes});
    nextScratch_ +=
        (bytes + scratchAlignment - 1) / scratchAlignment * scratchAlignment;
  }
  VkWriteDescriptorSet write = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
  write.dstSet = sets_[nextDispatch_];
  write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  write.descriptorCount = uint32_t(buffers.size());
  write.pBufferInfo = buffers.data();
  vk.vkUpdateDescriptorSets(device_.handle, 1, &write, 0, nullptr);
  uint8_t constants[pushConstantBytes] = {};
  if (step.constantCount)
    std::memcpy(constants, program.constants.data() + step.constants,
                4 * step.constantCount);
  if (step.parameterCount)
    std::memcpy(constants + parameterOffset(step.constantCount),
                program.parameters.data() + step.parameters,
                8 * step.parameterCount);
  vk.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE,
                       entry.pipeline);
  vk.vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE,
                             entry.layout.pipeline, 0, 1, &sets_[nextDispatch_],
                             0, nullptr);
  vk.vkCmdPushConstants(commands_, entry.layout.pipeline,
                        VK_SHADER_STAGE_COMPUTE_BIT, 0, pushConstantBytes,
                        constants);
  vk.vkCmdDispatch(commands_, step.grid[0], step.grid[1], step.grid[2]);
  ops_.push_back(step.op);
  ++nextDispatch_;
}

void Recording::copy(const PreparedCommands &program,
                     const PreparedCommand &step, const bp_binding_t *table) {
  Place from = resolve(program.ranges[step.ranges], table);
  Place to = resolve(program.ranges[step.ranges + 1], table);
  VkBufferCopy region = {from.offset, to.offset, to.length};
  device_.vk.vkCmdCopyBuffer(commands_, from.buffer->storage.handle,
                             to.buffer->storage.handle, 1, &region);
}

void Recording::copyPattern(uint64_t from, VkBuffer to, uint64_t offset,
                            uint64_t size) {
  VkBufferCopy region = {from, offset, size};
  if (size)
    device_.vk.vkCmdCopyBuffer(commands_, control_.handle, to, 1, &region);
}

/// Vulkan fills whole words only; bytes in front of the first and behind the
/// last are copied.
void Recording::fill(const PreparedCommands &program,
                     const PreparedCommand &step, const bp_binding_t *table) {
  Place to = resolve(program.ranges[step.ranges], table);
  VkBuffer buffer = to.buffer->storage.handle;
  uint32_t twice[2] = {step.pattern, step.pattern};
  std::memcpy(control_.memory.mapped + nextPattern_, twice, patternBytes);
  uint64_t head = std::min((4 - to.offset % 4) % 4, to.length);
  uint64_t body = (to.length - head) / 4 * 4;
  uint64_t tail = to.length - head - body;
  uint32_t word; // as it stands behind the head
  std::memcpy(&word, reinterpret_cast<uint8_t *>(twice) + head, sizeof(word));
  copyPattern(nextPattern_, buffer, to.offset, head);
  if (body)
    device_.vk.vkCmdFillBuffer(commands_, buffer, to.offset + head, body, word);
  copyPattern(nextPattern_ + head, buffer, to.offset + head + body, tail);
  nextPattern_ += patternBytes;
}

void Recording::play(const PreparedCommands &program,
                     const PreparedCommand &step, const bp_binding_t *table) {
  switch (step.kind) {
  case PreparedCommand::Dispatch:
    return dispatch(program, step, table);
  case PreparedCommand::Copy:
    return copy(program, step, table);
  case PreparedCommand::Fill:
    return fill(program, step, table);
  case PreparedCommand::Barrier:
    return orderCommands(device_.vk, commands_);
  }
}

void Recording::play(const PreparedCommands &program, const bp_binding_t *table,
                     bool timed) {
  orderCommands(device_.vk, commands_);
  for (const PreparedCommand &step : program.steps) {
    bool marked = timed && step.kind != PreparedCommand::Barrier;
    if (marked) {
      timed_.push_back(step.command);
      timing_.mark(commands_);
    }
    play(program, step, table);
    if (marked)
      timing_.mark(commands_);
  }
  showToHost(device_.vk, commands_);
}

/// Buffers and offsets of the slots that a program uses.
static void signature(const PreparedCommands &program,
                      const bp_binding_t *table, std::vector<uint64_t> &out) {
  out.clear();
  for (uint32_t slot : program.slots) {
    const bp_buffer_t *buffer = table[slot].buffer;
    out.push_back(buffer ? buffer->serial : 0);
    out.push_back(table[slot].offset);
  }
}

bool Recording::holds(const PreparedCommands &program,
                      const bp_binding_t *table) const {
  if (!recorded_ || bound_.size() != 2 * program.slots.size())
    return false;
  for (size_t i = 0; i < program.slots.size(); ++i) {
    const bp_binding_t &slot = table[program.slots[i]];
    if (bound_[2 * i] != (slot.buffer ? slot.buffer->serial : 0) ||
        bound_[2 * i + 1] != slot.offset)
      return false;
  }
  return true;
}

VkResult Recording::record(const PreparedCommands &program,
                           const bp_binding_t *table, bool timed) {
  recorded_ = false;
  if (VkResult result = prepare(program))
    return result;
  if (VkResult result = allocateSets(device_, program, descriptors_, sets_))
    return result;
  ops_.clear();
  nextDispatch_ = 0;
  nextScratch_ = 0;
  nextPattern_ = program.dispatches * errorStride();
  VkCommandBufferBeginInfo info = {VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  if (VkResult result = device_.vk.vkBeginCommandBuffer(commands_, &info))
    return result;
  timed_.clear();
  if (VkResult result = timing_.prepare(
          commands_, timed ? uint32_t(program.steps.size()) : 0))
    return result;
  play(program, table, timed);
  if (VkResult result = device_.vk.vkEndCommandBuffer(commands_))
    return result;
  signature(program, table, bound_);
  recorded_ = true;
  return VK_SUCCESS;
}

void Recording::rewind() {
  if (!ops_.empty())
    std::memset(control_.memory.mapped, 0, ops_.size() * errorStride());
}

Recording::KernelError Recording::firstError() const {
  for (size_t i = 0; i < ops_.size(); ++i) {
    uint32_t word;
    std::memcpy(&word, control_.memory.mapped + i * errorStride(),
                sizeof(word));
    if (word)
      return {word, ops_[i]};
  }
  return {0, 0};
}

void Recording::readTimes(bp_timestamp_t *times) const {
  std::vector<bp_timestamp_t> read = timing_.read();
  for (size_t i = 0; i < read.size(); ++i)
    times[timed_[i]] = read[i];
}

Recording *RecordingPool::takeAny() {
  if (idle.empty())
    return nullptr;
  Recording *recording = idle.back();
  idle.pop_back();
  return recording;
}

Recording *RecordingPool::take(const PreparedCommands &program,
                               const bp_binding_t *table) {
  auto found =
      std::find_if(idle.begin(), idle.end(), [&](const Recording *one) {
        return one->holds(program, table);
      });
  if (found == idle.end())
    return takeAny();
  Recording *recording = *found;
  idle.erase(found);
  return recording;
}

Recording *RecordingPool::add(std::unique_ptr<Recording> recording) {
  all.push_back(std::move(recording));
  return all.back().get();
}

} // namespace backplane::vulkan
