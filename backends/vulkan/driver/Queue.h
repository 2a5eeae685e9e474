// SPDX-License-Identifier: Apache-2.0
//
// Queue.h: queues, their submissions and the thread that waits for them.
//
// Each queue has a timeline semaphore of Vulkan that counts its submissions. A
// submission waits on the device for what other queues have been given; what
// nobody has promised to signal yet holds it back on the host, so that queues
// which share one of Vulkan's cannot block each other. What may set an error
// word does so, too: nothing that waits for it may run if it fails. A semaphore
// of the ABI is a number on the host with the points of queues that will raise
// it: its value and its failure are those that the host was told.
#ifndef BACKPLANE_VULKAN_QUEUE_H
#define BACKPLANE_VULKAN_QUEUE_H

#include "Recording.h"

#include <deque>
#include <pthread.h>

namespace backplane::vulkan {

/// The outcome of a submission.
struct Outcome {
  bp_status_t status = BP_STATUS_OK;
  std::string message;
};

struct Submission {
  Recording *recording = nullptr;
  RecordingPool *home = nullptr; ///< where it goes when it is done
  std::vector<bp_timepoint_t> waits;
  std::vector<bp_timepoint_t> signals;
  bp_completion_t completion = {};
  bp_timestamp_t *times = nullptr; ///< to be filled in, or null
  bool mayFail = false;            ///< a kernel in it reports errors
  uint64_t point = 0; ///< on the queue's timeline, 0: not given to Vulkan
  Outcome failure;    ///< why it was not given to Vulkan
};

} // namespace backplane::vulkan

struct bp_queue_t {
  bp_device_t *device;
  VkQueue handle = VK_NULL_HANDLE;
  VkSemaphore timeline = VK_NULL_HANDLE;
  uint64_t points = 0; ///< of the timeline that were given away
  backplane::vulkan::PreparedCommands scratch;
  pthread_t thread;
  // Guarded by the device:
  backplane::vulkan::RecordingPool recordings;
  std::deque<backplane::vulkan::Submission> waiting; ///< held back
  std::deque<backplane::vulkan::Submission> running;
  std::condition_variable work; ///< something runs, or the queue ends
  bool ending = false;
};

struct bp_semaphore_t {
  uint64_t value;
  backplane::vulkan::Outcome failure;
  /// Who will raise it: a point of a queue, for submissions that Vulkan has.
  struct Promise {
    uint64_t value;
    bp_queue_t *queue;
    uint64_t point;
    bool mayFail;
  };
  std::vector<Promise> promises;
};

struct bp_command_buffer_t {
  bp_device_t *device;
  backplane::vulkan::PreparedCommands program;
  backplane::vulkan::RecordingPool recordings; ///< guarded by the device
};

namespace backplane::vulkan {

using Lock = std::unique_lock<std::mutex>;

/// Makes a program of commands; refuses unknown ones.
bp_status_t translate(const bp_device_t &device, PreparedCommands &program,
                      const bp_header_t *const *commands, uint64_t count,
                      bp_error_t *error);
/// Records a program, or finds it recorded, and gives it to a queue.
bp_status_t enqueue(bp_queue_t &queue, const PreparedCommands &program,
                    const bp_binding_t *table, RecordingPool &home,
                    Submission submission, bp_error_t *error);
/// Gives to Vulkan whatever need not be held back any more.
void advance(bp_device_t &device, const Lock &lock);
/// Whether the host has seen a timepoint reached or failed.
bool settled(const bp_timepoint_t &at);

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_QUEUE_H
