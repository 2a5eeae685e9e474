// SPDX-License-Identifier: Apache-2.0
//
// Select.h: from what an application asks for to the candidates that a session
// tries, in their order: the device text, the application's own choice, and
// measurements where an aim asks for them.
#ifndef BACKPLANE_RUNTIME_SELECT_H
#define BACKPLANE_RUNTIME_SELECT_H

#include "AnySession.h"
#include "CompileAtLoad.h"
#include "LoadedArtifact.h"
#include "Selection.h"
#include "sdk/support/Cache.h"

namespace backplane::rt {

/// What bp_session_options_t says.
struct SessionRequest {
  std::string device;  ///< a policy, empty: "host" or, with a chooser, all
  uint64_t budget = 0; ///< bytes of device memory, 0: no limit
  const bp_chooser_t *chooser = nullptr;
  bool jit = false;
  CompileLimits limits; ///< for the JIT
  /// Whether a variant may open devices that were not asked for.
  bool fallback = true;
  worker::Pool *workers = nullptr; ///< never null where workers are asked for
  std::shared_ptr<CompileAtLoad> compiler; ///< for the JIT; may be null
  const Cache *cache = nullptr;            ///< of measurements; may be null
};

/// Fails on a text that is no policy and on a chooser that answers nonsense; a
/// selection without any candidate that is left is no failure.
Result<Selection> select(const std::shared_ptr<const LoadedArtifact> &artifact,
                         const SessionRequest &request);

/// Takes the first candidate of the request that loads, here or behind a
/// worker. A failure has the reasons of all.
Result<std::shared_ptr<AnySession>>
createSession(const std::shared_ptr<const LoadedArtifact> &artifact,
              const SessionRequest &request);

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_SELECT_H
