// SPDX-License-Identifier: Apache-2.0
//
// Serve.h: the thread of a queue, which waits for its submissions and tells
// the host. It computes nothing and never polls.
#ifndef BACKPLANE_VULKAN_SERVE_H
#define BACKPLANE_VULKAN_SERVE_H

#include "Queue.h"

namespace backplane::vulkan {

/// Starts the thread; false when there can be no more. It ends when the queue
/// is `ending` and all its submissions are done.
bool startServing(bp_queue_t &queue);

/// What a failed call of Vulkan means for the work that it was for.
Outcome outcomeOf(VkResult result);

} // namespace backplane::vulkan

#endif // BACKPLANE_VULKAN_SERVE_H
