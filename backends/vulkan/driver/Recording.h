// SPDX-License-Identifier: Apache-2.0
//
// Recording.h: a command buffer of Vulkan with all that belongs to one run of
// it: descriptor sets, error words, patterns of fills, scratch. It is recorded
// again only when it is to run with other buffers.
#ifndef BACKPLANE_VULKAN_RECORDING_H
#define BACKPLANE_VULKAN_RECORDING_H

#include "Executable.h"
#include "Timing.h"

namespace backplane::vulkan {

using gpu::Commands;

class Recording final : public gpu::Recording {
public:
  explicit Recording(Device &device) : device_(device), timing_(device) {}
  ~Recording() override;

  /// Records the commands. `bound`: the buffers that differ from run to run.
  /// `timed`: with marks around each command.
  VkResult record(Commands commands, std::span<const uint64_t> bound,
                  bool timed);
  /// Clears the error words, before a run.
  void rewind();
  VkCommandBuffer commands() const { return commands_; }
  /// The end of the run that it is used by, on the timeline of a queue.
  struct Point {
    VkSemaphore timeline = VK_NULL_HANDLE;
    uint64_t value = 0;
  };
  Point end;

  gpu::Outcome wait() override;
  void readTimes(bp_timestamp_t *times) const override;

protected:
  uint32_t errorWord(size_t dispatch) const override;

private:
  VkResult prepare(Commands commands);
  VkResult prepareCommands();
  VkResult prepareDescriptors(uint32_t sets, uint32_t descriptors);
  VkResult allocateSets(std::span<const VkDescriptorSetLayout> layouts);
  VkResult fit(Storage &storage, uint64_t &capacity, uint64_t bytes,
               bool staging);
  void play(Commands commands, bool timed);
  void play(const bp_header_t *command);
  void dispatch(const bp_command_dispatch_t &dispatch);
  void copy(const bp_command_copy_t &copy);
  void fill(const bp_command_fill_t &fill);
  void copyPattern(uint64_t from, VkBuffer to, uint64_t offset, uint64_t size);
  VkDescriptorBufferInfo scratchFor(const bp_command_dispatch_t &dispatch);
  void pushConstants(const bp_command_dispatch_t &dispatch,
                     VkPipelineLayout layout);
  uint64_t errorStride() const;

  Device &device_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  uint32_t maxSets_ = 0, maxDescriptors_ = 0;
  Storage control_; ///< error words, then patterns
  uint64_t controlBytes_ = 0;
  Storage scratch_;
  uint64_t scratchBytes_ = 0;
  std::vector<VkDescriptorSet> sets_;
  Timing timing_;
  // While recording:
  uint64_t nextPattern_ = 0, nextScratch_ = 0;
};

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_RECORDING_H
