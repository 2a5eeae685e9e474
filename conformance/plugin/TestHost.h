// SPDX-License-Identifier: Apache-2.0
//
// TestHost.h: host services that watch the plug-in: every block of memory is
// guarded and counted, allocations fail when asked to, loops run in unusual
// orders, and a call after shutdown is noticed.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_TESTHOST_H
#define BACKPLANE_CONFORMANCE_PLUGIN_TESTHOST_H

#include "backplane/cpp/Result.h"
#include "backplane/plugin.h"
#include "hal/core/CpuInfo.h"
#include "hal/core/ThreadPool.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace backplane::checks {

/// How parallel_for goes through its indices. All are allowed by plugin.h.
enum class LoopOrder { Pool, Forward, Backward, Shuffled };

struct HostPlan {
  uint32_t workers = 4;
  LoopOrder order = LoopOrder::Pool;
  uint32_t minor = BP_ABI_MINOR;
  bool graphTable = true;        ///< get_extension knows "backplane.graph"
  uint32_t tailBytes = 0;        ///< of rubbish, by which the table is larger
  uint32_t postDelayMs = 0;      ///< posted tasks start late
  std::string cpuFeatures = "*"; ///< "*": those of this machine
};

/// Outlives the plug-in's `self`. Thread-safe.
class TestHost {
public:
  explicit TestHost(const HostPlan &plan = {});
  ~TestHost();
  TestHost(const TestHost &) = delete;
  TestHost &operator=(const TestHost &) = delete;

  const bp_host_t *table() const { return table_; }

  /// From now on: the allocation after `count` more ones fails; all that
  /// follow do too when `onwards`.
  void failAfter(uint64_t count, bool onwards);
  void failNever();
  /// Whether an allocation was made to fail since failAfter.
  bool hasFailed() const;
  uint64_t liveBlocks() const;
  uint64_t liveBytes() const;
  uint64_t allocations() const; ///< so far

  /// Waits until all posted tasks are done.
  void finishPosts();
  /// No call may come from now on.
  void close();
  /// What the plug-in did wrong, empty when nothing: a damaged guard, a double
  /// free, a call after close, a bad argument.
  std::string complaint() const;

private:
  struct Block {
    std::unique_ptr<uint8_t[]> memory;
    uint8_t *data;
    uint64_t size;
  };
  struct Storage; ///< the table with what lies after it

  static TestHost &of(void *self) { return *static_cast<TestHost *>(self); }
  void use(const char *what);
  void complain(std::string text); ///< with the lock held
  void checkGuards(const Block &block);
  void *allocate(uint64_t size, uint64_t alignment);
  void release(void *pointer);
  void loop(uint64_t count, bp_loop_body_t body, void *context);
  void post(void (*task)(void *), void *context);
  void runTasks();
  bool refusesNow();
  void fillTable(bp_host_t &table);

  HostPlan plan_;
  CpuInfo cpu_;
  bp_host_cpu_t cpuTable_;
  std::unique_ptr<Storage> storage_;
  const bp_host_t *table_;
  std::unique_ptr<ThreadPool> pool_;
  mutable std::mutex mutex_; ///< guards all below
  std::map<uint8_t *, Block> blocks_;
  uint64_t bytes_ = 0, allocations_ = 0, refusals_ = 0;
  uint64_t untilFailure_ = UINT64_MAX;
  bool onwards_ = false, closed_ = false;
  std::deque<std::function<void()>> tasks_; ///< posted and not begun
  std::condition_variable tasksChanged_;
  std::thread poster_; ///< runs them in order; ends when there are none
  bool posting_ = false;
  std::string complaint_;
};

} // namespace backplane::checks

#endif // BACKPLANE_CONFORMANCE_PLUGIN_TESTHOST_H
