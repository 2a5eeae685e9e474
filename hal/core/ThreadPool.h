// SPDX-License-Identifier: Apache-2.0
//
// ThreadPool.h: the one thread pool of a process. Parallel loops start within
// microseconds because idle workers spin for a while before they sleep. One
// loop runs on the pool at a time; a loop that finds it busy, and a loop inside
// a loop, runs on the calling thread alone.
#ifndef BACKPLANE_CORE_THREADPOOL_H
#define BACKPLANE_CORE_THREADPOOL_H

#include "backplane/plugin.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace backplane {

class ThreadPool {
public:
  /// `threads` workers, the caller of a loop included; 0: one per core that
  /// this process may use. Threads start with the first loop that needs them.
  explicit ThreadPool(uint32_t threads = 0);
  /// Runs the jobs that are left. May be called from a job, which is then the
  /// last one.
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// Number of workers, at least 1.
  uint32_t workerCount() const;

  /// Runs body(context, i, worker) for every i below `count`, the caller taking
  /// part, and returns when all are done. `worker` is below workerCount().
  /// Thread-safe.
  void parallelFor(uint64_t count, bp_loop_body_t body, void *context);

  /// Runs `job` once, in order of posting, on a thread of its own beside the
  /// workers, or in help(). Thread-safe.
  void post(std::function<void()> job);

  /// Runs the oldest posted job that nobody has started, on this thread; false
  /// when there is none. For threads that wait for a job's result.
  bool help();

private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace backplane

#endif // BACKPLANE_CORE_THREADPOOL_H
