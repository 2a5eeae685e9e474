// SPDX-License-Identifier: Apache-2.0
//
// Runner.h: runs artifacts on one device, as its tool asks: the part of a
// worker and of an application that needs no compiler.
#ifndef BACKPLANE_WORKER_RUNNER_H
#define BACKPLANE_WORKER_RUNNER_H

#include "ArtifactStore.h"
#include "Calls.h"
#include "Loop.h"

#include <list>
#include <map>

namespace backplane::worker {

/// An artifact in memory.
struct Loaded {
  std::string hash;
  OpenSession own; ///< for runs that name no session; the first one makes it
};

/// Runs artifacts on one device. The latest few stay loaded.
class Runner {
public:
  Runner(SharedContext context, const WorkerOptions &options);
  /// Answers one request.
  Status handle(const Frame &request, Frame &answer);

private:
  static constexpr size_t maxLoaded = 8, maxSessions = 256;

  Status offer(std::span<const uint8_t> payload, Frame &answer);
  Status load(std::span<const uint8_t> payload);
  Status open(std::span<const uint8_t> payload, Frame &answer);
  Status resetOrClose(const Frame &request);
  Status run(std::span<const uint8_t> payload, Frame &answer);
  Status batch(std::span<const uint8_t> payload, Frame &answer);
  Result<Session> makeSession(const Artifact &artifact, uint64_t budget,
                              uint32_t variant = OpenMessage::anyVariant) const;
  Result<OpenSession *> sessionOf(const RunMessage &message);
  void keep(const std::string &hash, Artifact artifact);
  Loaded *find(const std::string &hash) {
    for (Loaded &loaded : loaded_)
      if (loaded.hash == hash)
        return &loaded;
    return nullptr;
  }

  SharedContext context_;
  std::string device_;
  bool plain_; ///< memory of tensors is that of malloc
  ArtifactStore store_;
  std::list<Loaded> loaded_; ///< latest first
  std::map<uint64_t, OpenSession> sessions_;
  uint64_t lastSession_ = 0;
};

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_RUNNER_H
