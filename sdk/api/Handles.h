// SPDX-License-Identifier: Apache-2.0
//
// Handles.h: what stands behind the handles of backplane.h, and how a function
// of that header runs C++ code.
#ifndef BACKPLANE_API_HANDLES_H
#define BACKPLANE_API_HANDLES_H

#include "backplane/backplane.h"
#include "hal/core/Error.h"
#include "hal/runtime/AnySession.h"
#include "hal/runtime/Session.h"
#include "hal/worker/Pool.h"
#include "sdk/service/CompileModel.h"

#include <mutex>
#include <new>

namespace backplane::rt {

/// A number that tells the handles of a kind from others: the first member of
/// what stands behind each.
constexpr uint64_t tagOf(std::string_view what) {
  uint64_t tag = 0xB5C0FBCFEC4D3B2F;
  for (char letter : what)
    tag = (tag ^ uint8_t(letter)) * 0x100000001B3;
  return tag;
}

} // namespace backplane::rt

struct bp_context_t {
  static constexpr const char *what = "context";
  static constexpr uint64_t ownTag = backplane::rt::tagOf(what);
  const uint64_t tag = ownTag;
  std::shared_ptr<backplane::Registry> registry;
  std::shared_ptr<backplane::rt::ModelCompiler> compiler;
  std::shared_ptr<backplane::worker::Pool> workers;
  std::mutex traceMutex;
  std::string tracePath; ///< of the trace that is on; guarded by traceMutex
};

struct bp_artifact_t {
  static constexpr const char *what = "artifact";
  static constexpr uint64_t ownTag = backplane::rt::tagOf(what);
  const uint64_t tag = ownTag;
  std::shared_ptr<const backplane::rt::LoadedArtifact> artifact;
  std::shared_ptr<backplane::rt::ModelCompiler> compiler; ///< for the JIT
  std::shared_ptr<backplane::worker::Pool> workers;
};

struct bp_session_t {
  static constexpr const char *what = "session";
  static constexpr uint64_t ownTag = backplane::rt::tagOf(what);
  const uint64_t tag = ownTag;
  std::shared_ptr<backplane::rt::AnySession> session;
};

struct bp_call_t {
  static constexpr const char *what = "call";
  static constexpr uint64_t ownTag = backplane::rt::tagOf(what);
  const uint64_t tag = ownTag;
  std::unique_ptr<backplane::rt::AnyCall> call;
};

struct bp_device_buffer_t {
  static constexpr const char *what = "device buffer";
  static constexpr uint64_t ownTag = backplane::rt::tagOf(what);
  const uint64_t tag = ownTag;
  std::shared_ptr<backplane::Buffer> buffer;
};

struct bp_timeline_t {
  static constexpr const char *what = "timeline";
  static constexpr uint64_t ownTag = backplane::rt::tagOf(what);
  const uint64_t tag = ownTag;
  std::shared_ptr<backplane::rt::Timeline> timeline;
};

namespace backplane::rt {

/// As options have them. More milliseconds than any compilation takes do not
/// fit a clock.
inline CompileLimits compileLimits(uint64_t bytes, uint64_t milliseconds) {
  constexpr uint64_t most = uint64_t(1) << 40;
  return {.bytes = bytes,
          .time = std::chrono::milliseconds(std::min(milliseconds, most))};
}

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

#endif // BACKPLANE_API_HANDLES_H
