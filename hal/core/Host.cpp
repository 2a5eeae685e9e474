// SPDX-License-Identifier: Apache-2.0
#include "hal/core/Host.h"
#include "backplane/cpp/Result.h"
#include "hal/core/PluginCall.h"
#include "sdk/support/Error.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace backplane {

/// Stands in front of every block of memory_allocate.
struct BlockHeader {
  void *start; ///< what std::aligned_alloc gave
  uint64_t size;
};

Host::Host(const HostOptions &options)
    : cpu_(CpuInfo::detect()), log_(options.log),
      graphTable_(options.graphTable), trust_(options.trust),
      mapArtifacts_(options.mapArtifacts),
      driverCache_(
          options.driverCache, options.trust,
          [this](const Status &s) { log(BP_LOG_WARNING, s.message()); }),
      pool_(options.threads) {}

void Host::log(uint32_t level, std::string_view message) {
  if (log_.log)
    log_.log(log_.context, level, toC(message));
}

void *Host::allocate(void *self, uint64_t size, uint64_t alignment) {
  constexpr uint64_t most = uint64_t(1) << 47;
  constexpr uint64_t maxAlignment = 1u << 21;
  if ((alignment & (alignment - 1)) || alignment > maxAlignment || size > most)
    return nullptr;
  alignment = std::max<uint64_t>(alignment, alignof(BlockHeader));
  auto *start =
      static_cast<char *>(std::malloc(size + alignment + sizeof(BlockHeader)));
  if (!start)
    return nullptr;
  uintptr_t first = reinterpret_cast<uintptr_t>(start) + sizeof(BlockHeader);
  uintptr_t aligned = (first + alignment - 1) & ~uintptr_t(alignment - 1);
  reinterpret_cast<BlockHeader *>(aligned)[-1] = {start, size};
  static_cast<Host *>(self)->allocated_ += size;
  return reinterpret_cast<void *>(aligned);
}

void Host::release(void *self, void *pointer) {
  if (!pointer)
    return;
  BlockHeader block = static_cast<BlockHeader *>(pointer)[-1];
  static_cast<Host *>(self)->allocated_ -= block.size;
  std::free(block.start);
}

const void *Host::extension(void *self, bp_string_t name, uint32_t version) {
  if (view(name) == "backplane.graph" && version == 0)
    return static_cast<Host *>(self)->graphTable_;
  if (view(name) == "backplane.cache" && version == 0)
    return static_cast<Host *>(self)->driverCache_.table();
  return nullptr;
}

bp_host_t Host::table(uint32_t minor) {
  bp_host_t host = {BP_HEADER(bp_host_t)};
  host.self = this;
  host.minor = minor;
  host.cpu = &cpu_.c();
  host.error_set = [](void *, bp_error_t *error, bp_status_t status,
                      bp_string_t message) {
    return setError(error, Status(status, std::string(view(message))));
  };
  host.log = [](void *self, uint32_t level, bp_string_t message) {
    static_cast<Host *>(self)->log(level, view(message));
  };
  host.memory_allocate = &Host::allocate;
  host.memory_free = &Host::release;
  host.worker_count = [](void *self) {
    return static_cast<Host *>(self)->pool_.workerCount();
  };
  host.parallel_for = [](void *self, uint64_t count, bp_loop_body_t body,
                         void *context) {
    static_cast<Host *>(self)->pool_.parallelFor(count, body, context);
  };
  host.get_extension = &Host::extension;
  host.post = [](void *self, void (*task)(void *), void *context) {
    static_cast<Host *>(self)->pool_.post([task, context] {
      PluginCall call("a posted task");
      task(context);
    });
  };
  return host;
}

bool Host::beginTrace() {
  std::lock_guard lock(traceMutex_);
  if (trace_.load(std::memory_order_relaxed))
    return false;
  traces_.push_back(std::make_unique<Trace>());
  trace_.store(traces_.back().get(), std::memory_order_release);
  return true;
}

Trace *Host::endTrace() {
  return trace_.exchange(nullptr, std::memory_order_acq_rel);
}

} // namespace backplane
