// SPDX-License-Identifier: Apache-2.0
//
// DriverCache.h: the extension "backplane.cache" of the host: bytes that a
// plug-in can make again, pipelines for instance, as files of the cache folder.
// Safe under several processes: an entry appears complete or not at all, and
// one that is damaged is not given out.
#ifndef BACKPLANE_CORE_DRIVERCACHE_H
#define BACKPLANE_CORE_DRIVERCACHE_H

#include "backplane/cpp/Result.h"
#include "backplane/plugin.h"
#include "sdk/support/FileTrust.h"

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace backplane {

/// Thread-safe.
class DriverCache {
public:
  /// `folder` is made when something is stored; empty: nothing is kept. What
  /// is not to be trusted is neither given out nor written to.
  using Warn = std::function<void(const Status &)>;
  explicit DriverCache(std::string folder, FileTrust trust = {},
                       Warn warn = {});
  DriverCache(const DriverCache &) = delete;
  DriverCache &operator=(const DriverCache &) = delete;

  /// What get_extension gives; it refers to this object.
  const bp_cache_table_t *table() const { return &table_; }

  Result<std::vector<uint8_t>> load(std::string_view key) const;
  Status store(std::string_view key, std::span<const uint8_t> bytes) const;

private:
  Result<std::string> pathOf(std::string_view key) const;
  bp_status_t told(const Status &status) const;

  std::string folder_;
  FileTrust trust_;
  Warn warn_; ///< told once what is not to be trusted
  mutable std::atomic<bool> warned_ = false;
  bp_cache_table_t table_ = {BP_HEADER(bp_cache_table_t)};
};

} // namespace backplane

#endif // BACKPLANE_CORE_DRIVERCACHE_H
