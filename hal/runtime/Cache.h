// SPDX-License-Identifier: Apache-2.0
//
// Cache.h: files that can be made again, kept by key: compiled artifacts,
// kernels, hashes of files. Safe under several processes: an entry appears
// complete or not at all, and one that is damaged is dropped when it is read.
#ifndef BACKPLANE_RUNTIME_CACHE_H
#define BACKPLANE_RUNTIME_CACHE_H

#include "sdk/graph/Graph.h"

namespace backplane::rt {

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
  /// An empty folder makes a cache that keeps nothing. The folder is made when
  /// something is put into it.
  explicit Cache(std::string folder) : folder_(std::move(folder)) {}

  bool enabled() const { return !folder_.empty(); }
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
  /// Removes what processes that died have left there half-written.
  void tidy() const;
  /// Removes a file that turned out to be damaged.
  void drop(const std::string &path) const;

  /// Hash of a file's contents; of a file that has not changed since it was
  /// hashed last (same path, size, inode and time of change) without reading
  /// it. Fails when it cannot be read.
  Result<std::string> fileHash(const std::string &path) const;

private:
  std::string folder_;
};

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_CACHE_H
