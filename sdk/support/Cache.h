// SPDX-License-Identifier: Apache-2.0
//
// Cache.h: files that can be made again, kept by key: compiled artifacts,
// kernels, hashes of files. Safe under several processes: an entry appears
// complete or not at all, and one that is damaged is dropped when it is read.
#ifndef BACKPLANE_SUPPORT_CACHE_H
#define BACKPLANE_SUPPORT_CACHE_H

#include "Bytes.h"
#include "FileTrust.h"

#include <functional>
#include <mutex>
#include <optional>
#include <span>

namespace backplane {

/// Collects what a key depends on. Each part is told apart from its
/// neighbours, so that "ab" + "c" and "a" + "bc" differ.
class CacheKey {
public:
  explicit CacheKey(std::string_view kind) { add(kind); }
  CacheKey &add(std::string_view part);
  /// 32 hexadecimal digits.
  std::string str() const;

private:
  std::string parts_;
};

/// Thread-safe.
class Cache {
public:
  using Warn = std::function<void(const Status &)>;

  /// An empty folder makes a cache that keeps nothing; so does one that is not
  /// to be trusted, which `warn` is told once. The folder is made when it is
  /// asked for first.
  explicit Cache(std::string folder, FileTrust trust = {}, Warn warn = {})
      : folder_(std::move(folder)), trust_(std::move(trust)),
        warn_(std::move(warn)) {}

  bool enabled() const;
  const std::string &folder() const { return folder_; }

  /// The bytes that were put under this kind and key; none when there are none
  /// or when they are damaged.
  std::optional<Bytes> get(std::string_view kind, std::string_view key) const;
  /// Keeps bytes. A failure (a full disk) is the caller's to log.
  Status put(std::string_view kind, std::string_view key,
             std::span<const uint8_t> data) const;

  /// Where a file of this kind and key lies, for files that are written and
  /// verified elsewhere; makes the folder.
  Result<std::string> path(std::string_view kind, std::string_view key) const;
  /// Opens such a file, which must be to be trusted. NOT_FOUND: there is none.
  Result<TrustedFile> open(std::string_view kind, std::string_view key) const;
  /// Removes what processes that died have left there half-written.
  void tidy() const;
  /// Removes a file that turned out to be damaged.
  void drop(const std::string &path) const;

  /// Hash of a file's contents; of a file that has not changed since it was
  /// hashed last (same path, size, inode and time of change) without reading
  /// it. Fails when it cannot be read.
  Result<std::string> fileHash(const std::string &path) const;

private:
  std::string name(std::string_view kind, std::string_view key) const {
    return folder_ + "/" + std::string(kind) + "/" + std::string(key);
  }
  void warn(const Status &status) const;

  std::string folder_;
  FileTrust trust_;
  Warn warn_;
  mutable std::once_flag looked_;
  mutable bool usable_ = false; ///< once it was looked at
};

} // namespace backplane

#endif // BACKPLANE_SUPPORT_CACHE_H
