// SPDX-License-Identifier: Apache-2.0
//
// Host.h: the services that plug-ins get: errors, log, counted memory, the
// thread pool, what the CPU can do, further tables by name.
#ifndef BACKPLANE_CORE_HOST_H
#define BACKPLANE_CORE_HOST_H

#include "backplane/backplane.h"
#include "backplane/graph.h"
#include "hal/core/CpuInfo.h"
#include "hal/core/DriverCache.h"
#include "hal/core/ThreadPool.h"
#include "hal/core/Trace.h"
#include "sdk/support/FileTrust.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string_view>

namespace backplane {

struct HostOptions {
  uint32_t threads = 0; ///< of the pool, 0: one per core
  bp_log_sink_t log = {};
  /// What get_extension("backplane.graph", 0) gives; NULL: nothing.
  const bp_graph_table_t *graphTable = nullptr;
  /// Folder of what plug-ins keep between runs; empty: nothing is kept.
  std::string driverCache;
  /// What plug-ins and their caches may be loaded from.
  FileTrust trust;
  bool mapArtifacts = false; ///< in place of copying them
};

class Host {
public:
  explicit Host(const HostOptions &options = {});
  Host(const Host &) = delete;
  Host &operator=(const Host &) = delete;

  /// The table for a plug-in with this effective minor version. It refers to
  /// this object, which must outlive its users.
  bp_host_t table(uint32_t minor);

  ThreadPool &pool() { return pool_; }
  const CpuInfo &cpu() const { return cpu_; }
  const FileTrust &trust() const { return trust_; }
  bool mapArtifacts() const { return mapArtifacts_; }
  const bp_graph_table_t *graphTable() const { return graphTable_; }
  /// The trace that is on; null when none is. It lives as long as this object.
  Trace *trace() const { return trace_.load(std::memory_order_acquire); }
  /// Begins a trace; false while one is on. Thread-safe.
  bool beginTrace();
  /// Ends it and gives it; null when none is on. Thread-safe.
  Trace *endTrace();
  /// Thread-safe.
  void log(uint32_t level, std::string_view message);
  /// Bytes that plug-ins hold of memory_allocate.
  uint64_t allocatedBytes() const { return allocated_; }

private:
  static void *allocate(void *self, uint64_t size, uint64_t alignment);
  static void release(void *self, void *pointer);
  static const void *extension(void *self, bp_string_t name, uint32_t version);

  CpuInfo cpu_;
  bp_log_sink_t log_;
  const bp_graph_table_t *graphTable_;
  FileTrust trust_;
  bool mapArtifacts_;
  DriverCache driverCache_;
  std::atomic<uint64_t> allocated_{0};
  std::atomic<Trace *> trace_{nullptr};
  std::mutex traceMutex_;
  /// Those that ended stay: a thread may still be writing its last span.
  std::vector<std::unique_ptr<Trace>> traces_; ///< guarded by traceMutex_
  ThreadPool pool_;
};

} // namespace backplane

#endif // BACKPLANE_CORE_HOST_H
