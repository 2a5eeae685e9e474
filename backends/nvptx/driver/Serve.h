// SPDX-License-Identifier: Apache-2.0
//
// Serve.h: the thread of a queue, which waits for its submissions and tells
// the host. It computes nothing and never polls.
#ifndef BACKPLANE_CUDA_SERVE_H
#define BACKPLANE_CUDA_SERVE_H

#include "Queue.h"

namespace backplane::cuda {

/// Starts the thread; false when there can be no more. It ends when the queue
/// is `ending` and all its submissions are done.
bool startServing(bp_queue_t &queue);

} // namespace backplane::cuda

#endif // BACKPLANE_CUDA_SERVE_H
