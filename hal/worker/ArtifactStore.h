// SPDX-License-Identifier: Apache-2.0
//
// ArtifactStore.h: large artifacts that a worker keeps on disk by hash, so that
// a tool sends each of them once.
#ifndef BACKPLANE_WORKER_ARTIFACTSTORE_H
#define BACKPLANE_WORKER_ARTIFACTSTORE_H

#include "backplane/cpp/Result.h"
#include "sdk/support/FileTrust.h"

#include <cstdint>
#include <span>
#include <string>

namespace backplane::worker {

/// Safe under several processes: a file appears complete or not at all.
class ArtifactStore {
public:
  /// Smaller artifacts are not kept; sending them costs nothing.
  static constexpr uint64_t minBytes = uint64_t(1) << 20;
  /// Beyond this the files that were used least recently go.
  static constexpr uint64_t maxBytes = uint64_t(4) << 30;

  /// An empty folder makes a store that keeps nothing. The folder is made when
  /// something is put into it. One that is not to be trusted is not used.
  /// What a process that died has left there half-written goes.
  explicit ArtifactStore(std::string folder, FileTrust trust = {});

  /// The file with these contents; empty when it is not there. One that is
  /// damaged or not to be trusted is removed. `hash` may be any text.
  std::string find(const std::string &hash) const;
  /// Keeps bytes that have this hash and gives their file; empty when they are
  /// too small to be kept. A failure (a full disk) leaves nothing behind.
  Result<std::string> put(const std::string &hash,
                          std::span<const uint8_t> bytes) const;

private:
  void makeRoom(uint64_t bytes) const;

  std::string folder_;
  FileTrust trust_;
};

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_ARTIFACTSTORE_H
