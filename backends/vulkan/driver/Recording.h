// SPDX-License-Identifier: Apache-2.0
//
// Recording.h: a command buffer of Vulkan with all that belongs to one run of
// it: descriptor sets, error words, patterns of fills, scratch. It is recorded
// again only when it is to run with other buffers.
#ifndef BACKPLANE_VULKAN_RECORDING_H
#define BACKPLANE_VULKAN_RECORDING_H

#include "PreparedCommands.h"
#include "Timing.h"

namespace backplane::vulkan {

/// Used by one run at a time.
class Recording {
public:
  explicit Recording(bp_device_t &device);
  ~Recording();
  Recording(const Recording &) = delete;
  Recording &operator=(const Recording &) = delete;

  /// Records the program; slot i is table[i]. `timed`: with marks around each
  /// command.
  VkResult record(const PreparedCommands &program, const bp_binding_t *table,
                  bool timed = false);
  /// Whether what was recorded last had these buffers in its slots.
  bool holds(const PreparedCommands &program, const bp_binding_t *table) const;
  /// Clears the error words, before a run.
  void rewind();
  VkCommandBuffer commands() const { return commands_; }

  /// The first error word that was set by the run.
  struct KernelError {
    uint32_t word; ///< 0: none
    uint32_t op;   ///< of the dispatch
  };
  KernelError firstError() const;
  /// When each command of the program ran; nothing is written for those that
  /// were not timed.
  void readTimes(bp_timestamp_t *times) const;

private:
  VkResult prepare(const PreparedCommands &program);
  VkResult prepareDescriptors(const PreparedCommands &program);
  VkResult fit(Storage &storage, uint64_t &capacity, uint64_t bytes,
               bool staging);
  void play(const PreparedCommands &program, const bp_binding_t *table,
            bool timed);
  void play(const PreparedCommands &program, const PreparedCommand &step,
            const bp_binding_t *table);
  void dispatch(const PreparedCommands &program, const PreparedCommand &step,
                const bp_binding_t *table);
  void copy(const PreparedCommands &program, const PreparedCommand &step,
            const bp_binding_t *table);
  void fill(const PreparedCommands &program, const PreparedCommand &step,
            const bp_binding_t *table);
  void copyPattern(uint64_t from, VkBuffer to, uint64_t offset, uint64_t size);
  uint64_t errorStride() const;

  bp_device_t &device_;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  uint32_t maxSets_ = 0, maxDescriptors_ = 0;
  Storage control_; ///< error words, then patterns
  uint64_t controlBytes_ = 0;
  Storage scratch_;
  uint64_t scratchBytes_ = 0;
  std::vector<uint32_t> ops_; ///< of the dispatches, in order
  std::vector<VkDescriptorSet> sets_;
  std::vector<uint64_t> bound_; ///< buffers and offsets of the slots
  bool recorded_ = false;
  Timing timing_;
  std::vector<uint32_t> timed_; ///< commands between pairs of marks
  // While recording:
  uint32_t nextDispatch_ = 0;
  uint64_t nextPattern_ = 0, nextScratch_ = 0;
};

/// Recordings of one owner, some of them running. Guarded by the device.
struct RecordingPool {
  std::vector<std::unique_ptr<Recording>> all;
  std::vector<Recording *> idle;

  /// Any idle recording; null when all are running.
  Recording *takeAny();
  /// One that holds these buffers if there is one, else any.
  Recording *take(const PreparedCommands &program, const bp_binding_t *table);
  Recording *add(std::unique_ptr<Recording> recording);
};

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_RECORDING_H
