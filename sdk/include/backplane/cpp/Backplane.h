// SPDX-License-Identifier: Apache-2.0
//
// Backplane.h: C++ comfort over backplane.h: handles that free themselves and
// Result<T> in place of an error argument. Header-only, no exceptions.
#ifndef BACKPLANE_CPP_BACKPLANE_H
#define BACKPLANE_CPP_BACKPLANE_H

#include "backplane/backplane.h"
#include "backplane/cpp/Result.h"

#include <memory>
#include <vector>

namespace backplane {

template <typename T, void (*Destroy)(T *)> struct HandleDeleter {
  void operator()(T *handle) const { Destroy(handle); }
};
template <typename T, void (*Destroy)(T *)>
using Handle = std::unique_ptr<T, HandleDeleter<T, Destroy>>;

using ErrorHandle = Handle<bp_error_t, bp_error_destroy>;
using Context = Handle<bp_context_t, bp_context_destroy>;
using Artifact = Handle<bp_artifact_t, bp_artifact_destroy>;
using Session = Handle<bp_session_t, bp_session_destroy>;

/// Runs `call(error)` and turns its status and text into a Status.
template <typename Call> Status checked(Call call) {
  ErrorHandle error(bp_error_create());
  bp_status_t code = call(error.get());
  if (code == BP_STATUS_OK)
    return {};
  std::string message(view(bp_error_message(error.get())));
  if (message.empty())
    message = "failed with status " + std::to_string(code);
  return Status(code, std::move(message));
}

inline Result<Context> createContext(const bp_context_options_t &options) {
  bp_context_t *out = nullptr;
  Status status = checked([&](bp_error_t *error) {
    return bp_context_create(&options, &out, error);
  });
  if (!status.ok())
    return status;
  return Context(out);
}

inline Result<Artifact> openArtifact(const Context &context,
                                     std::string_view path) {
  bp_artifact_t *out = nullptr;
  Status status = checked([&](bp_error_t *error) {
    return bp_artifact_open(context.get(), toC(path), &out, error);
  });
  if (!status.ok())
    return status;
  return Artifact(out);
}

inline Result<Artifact> compileModel(const Context &context,
                                     std::string_view path,
                                     const bp_compile_options_t &options) {
  bp_artifact_t *out = nullptr;
  Status status = checked([&](bp_error_t *error) {
    return bp_artifact_compile(context.get(), toC(path), &options, &out, error);
  });
  if (!status.ok())
    return status;
  return Artifact(out);
}

inline Result<Session> createSession(const Artifact &artifact,
                                     const bp_session_options_t &options) {
  bp_session_t *out = nullptr;
  Status status = checked([&](bp_error_t *error) {
    return bp_session_create(artifact.get(), &options, &out, error);
  });
  if (!status.ok())
    return status;
  return Session(out);
}

inline Status runSession(const Session &session,
                         const std::vector<bp_tensor_t> &inputs,
                         const std::vector<bp_tensor_t> &outputs) {
  return checked([&](bp_error_t *error) {
    return bp_session_run(session.get(), inputs.data(),
                          static_cast<uint32_t>(inputs.size()), outputs.data(),
                          static_cast<uint32_t>(outputs.size()), error);
  });
}

inline Status runValues(const Session &session,
                        const std::vector<const bp_value_t *> &inputs,
                        const std::vector<bp_value_t *> &outputs) {
  return checked([&](bp_error_t *error) {
    return bp_session_run_values(
        session.get(), inputs.data(), static_cast<uint32_t>(inputs.size()),
        outputs.data(), static_cast<uint32_t>(outputs.size()), error);
  });
}

} // namespace backplane

#endif // BACKPLANE_CPP_BACKPLANE_H
