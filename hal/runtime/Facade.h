// SPDX-License-Identifier: Apache-2.0
//
// Facade.h: what stands behind the handles of backplane.h, and how a function
// of that header runs C++ code.
#ifndef BACKPLANE_RUNTIME_FACADE_H
#define BACKPLANE_RUNTIME_FACADE_H

#include "AnySession.h"
#include "CompileModel.h"
#include "Session.h"
#include "backplane/backplane.h"
#include "hal/core/Error.h"
#include "hal/worker/Pool.h"

#include <mutex>
#include <new>

struct bp_context_t {
  std::shared_ptr<backplane::Registry> registry;
  std::shared_ptr<backplane::rt::ModelCompiler> compiler;
  std::shared_ptr<backplane::worker::Pool> workers;
  std::mutex traceMutex;
  std::string tracePath; ///< of the trace that is on; guarded by traceMutex
};

struct bp_artifact_t {
  std::shared_ptr<const backplane::rt::LoadedArtifact> artifact;
  std::shared_ptr<backplane::rt::ModelCompiler> compiler; ///< for the JIT
  std::shared_ptr<backplane::worker::Pool> workers;
};

struct bp_session_t {
  std::shared_ptr<backplane::rt::AnySession> session;
};

struct bp_call_t {
  std::unique_ptr<backplane::rt::AnyCall> call;
};

namespace backplane::rt {

/// Runs `body`, which gives a Status, and reports its failure through `error`.
/// The standard library throws when memory is short; that stops here.
template <typename Body> bp_status_t guarded(bp_error_t *error, Body body) {
  try {
    return setError(error, body());
  } catch (const std::bad_alloc &) {
    return setError(error, Status(BP_STATUS_RESOURCE_EXHAUSTED,
                                  "the host is out of memory"));
  } catch (const std::exception &failure) {
    return setError(error, internalError(std::string("unexpected failure: ") +
                                         failure.what()));
  }
}

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_FACADE_H
