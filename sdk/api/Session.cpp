// SPDX-License-Identifier: Apache-2.0
//
// FacadeSession.cpp: backplane.h from sessions on.
#include "Arguments.h"
#include "Handles.h"
#include "hal/core/Tables.h"
#include "hal/runtime/RemoteSession.h"
#include "sdk/package/Check.h"

#include <algorithm>

using namespace backplane;
using namespace backplane::rt;

namespace {

Status readRequest(const bp_artifact_t &artifact,
                   const bp_session_options_t *from, SessionRequest &request) {
  bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
  if (from)
    if (Status s = copyStruct(from, bp_session_options_t_TYPE,
                              "session options", options);
        !s.ok())
      return s;
  constexpr uint32_t known = BP_SESSION_JIT | BP_SESSION_NO_FALLBACK;
  if (Status s = isText(options.device, "device"); !s.ok())
    return s.within("session options");
  if (options.chooser && !options.chooser->choose)
    return invalidArgument("session options: the chooser has no function");
  if (Status s = areFlags(options.flags, known, options.reserved); !s.ok())
    return s.within("session options");
  request.device = view(options.device);
  request.budget = options.memory_budget;
  request.chooser = options.chooser;
  request.jit = options.flags & BP_SESSION_JIT;
  request.fallback = !(options.flags & BP_SESSION_NO_FALLBACK);
  request.limits = compileLimits(options.max_memory, options.max_milliseconds);
  request.compiler = artifact.compiler;
  request.cache = &artifact.compiler->cache();
  request.workers = artifact.workers.get();
  return {};
}

/// Whether there is something to decide here, for which a worker must be asked
/// for its devices first.
bool decidesHere(const LoadedArtifact &artifact,
                 const SessionRequest &request) {
  const auto &variants = artifact.file->metadata().variants;
  return !worker::RemoteUri::matches(request.device) || request.chooser ||
         request.jit || !request.fallback ||
         request.device.find(',') != std::string::npos ||
         std::ranges::any_of(variants, [](const VariantInfo &variant) {
           return variant.devices.size() > 1;
         });
}

Result<std::shared_ptr<AnySession>> makeSession(const bp_artifact_t &artifact,
                                                const SessionRequest &request) {
  if (decidesHere(*artifact.artifact, request))
    return rt::createSession(artifact.artifact, request);
  Result<worker::RemoteUri> uri = worker::RemoteUri::parse(request.device);
  if (!uri)
    return uri.status();
  auto remote =
      RemoteSession::create(artifact.artifact, *artifact.workers, *uri,
                            worker::OpenMessage::anyVariant, request.budget);
  if (!remote)
    return remote.status();
  return std::shared_ptr<AnySession>(std::move(*remote));
}

/// Places for the sizes of outputs that have any.
Status checkRooms(const std::vector<std::vector<int64_t>> &shapes,
                  int64_t *const *rooms) {
  if (!shapes.empty() && !rooms)
    return invalidArgument("out_dims is NULL");
  for (size_t i = 0; i < shapes.size(); ++i)
    if (!shapes[i].empty() && !rooms[i])
      return invalidArgument("out_dims[" + std::to_string(i) + "] is NULL");
  return {};
}

using ShapesOf = Result<std::vector<std::vector<int64_t>>> (AnySession::*)(
    std::span<const bp_tensor_t> inputs) const;

/// Writes one answer of a session about the shapes of its outputs.
bp_status_t askShapes(ShapesOf shapesOf, bp_session_t *session,
                      std::span<const bp_tensor_t> inputs,
                      int64_t *const *rooms, bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s = firstOf(
            {isHandle(session), isArray(inputs.data(), uint32_t(inputs.size()),
                                        UINT32_MAX, "inputs")});
        !s.ok())
      return s;
    auto shapes = (session->session.get()->*shapesOf)(inputs);
    if (!shapes)
      return shapes.status();
    if (Status s = checkRooms(*shapes, rooms); !s.ok())
      return s;
    for (size_t i = 0; i < shapes->size(); ++i)
      std::copy((*shapes)[i].begin(), (*shapes)[i].end(), rooms[i]);
    return {};
  });
}

/// What a call starts with; the session looks at the tensors.
Status checkCall(const bp_session_t *session, const bp_tensor_t *inputs,
                 uint32_t inputCount, const bp_tensor_t *outputs,
                 uint32_t outputCount) {
  if (session && session->tag == bp_session_t::ownTag &&
      (inputs || !inputCount) && (outputs || !outputCount))
    return {};
  return firstOf({isHandle(session),
                  isArray(inputs, inputCount, UINT32_MAX, "inputs"),
                  isArray(outputs, outputCount, UINT32_MAX, "outputs")});
}

bp_status_t put(const bp_string_sink_t *sink, const std::string &text) {
  return sink->put(sink->context, toC(text));
}

} // namespace

bp_status_t bp_artifact_select(bp_artifact_t *artifact,
                               const bp_session_options_t *options,
                               const bp_string_sink_t *sink,
                               bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    SessionRequest request;
    if (Status s = firstOf({isHandle(artifact), isSink(sink)}); !s.ok())
      return s;
    if (Status s = readRequest(*artifact, options, request); !s.ok())
      return s;
    Result<Selection> selection = select(artifact->artifact, request);
    if (!selection)
      return selection.status();
    choose(*selection);
    return Status(put(sink, selection->lines()), "the sink refused the text");
  });
}

bp_status_t bp_session_explain(const bp_session_t *session,
                               const bp_string_sink_t *sink,
                               bp_error_t *error) {
  return guarded(error, [&] {
    Status status = firstOf({isHandle(session), isSink(sink)});
    return status.ok() ? Status(put(sink, session->session->explain()),
                                "the sink refused the text")
                       : status;
  });
}

bp_status_t bp_session_create(bp_artifact_t *artifact,
                              const bp_session_options_t *options,
                              bp_session_t **out_session, bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    SessionRequest request;
    if (Status s =
            firstOf({isHandle(artifact), needs(out_session, "out_session")});
        !s.ok())
      return s;
    if (Status s = readRequest(*artifact, options, request); !s.ok())
      return s;
    auto session = makeSession(*artifact, request);
    if (!session)
      return session.status();
    *out_session = new bp_session_t{.session = std::move(*session)};
    return {};
  });
}

void bp_session_destroy(bp_session_t *session) {
  if (isHandle(session).ok())
    delete session;
}

bp_status_t bp_session_reset(bp_session_t *session, bp_error_t *error) {
  return guarded(error, [&] {
    Status status = isHandle(session);
    return status.ok() ? session->session->reset() : status;
  });
}

bp_string_t bp_session_choice(const bp_session_t *session) {
  return isHandle(session).ok() ? toC(session->session->choice())
                                : bp_string_t{nullptr, 0};
}

double bp_session_remote_ms(const bp_session_t *session) {
  return isHandle(session).ok() ? session->session->remoteMilliseconds() : 0;
}

uint64_t bp_session_dispatch_count(const bp_session_t *session) {
  return isHandle(session).ok() ? session->session->dispatchCount() : 0;
}

bp_status_t bp_session_output_shapes(bp_session_t *session,
                                     const bp_tensor_t *inputs,
                                     uint32_t input_count,
                                     int64_t *const *out_dims,
                                     bp_error_t *error) {
  return askShapes(&AnySession::outputShapes, session, {inputs, input_count},
                   out_dims, error);
}

bp_status_t bp_session_output_bounds(bp_session_t *session,
                                     const bp_tensor_t *inputs,
                                     uint32_t input_count,
                                     int64_t *const *out_dims,
                                     bp_error_t *error) {
  return askShapes(&AnySession::outputBounds, session, {inputs, input_count},
                   out_dims, error);
}

bp_status_t bp_session_submit(bp_session_t *session, const bp_tensor_t *inputs,
                              uint32_t input_count, const bp_tensor_t *outputs,
                              uint32_t output_count, bp_call_t **out_call,
                              bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s =
            checkCall(session, inputs, input_count, outputs, output_count);
        !s.ok())
      return s;
    if (Status s = needs(out_call, "out_call"); !s.ok())
      return s;
    auto handle = std::make_unique<bp_call_t>();
    auto call = session->session->begin(
        {{inputs, input_count}, {outputs, output_count}}, false);
    if (!call)
      return call.status();
    handle->call = std::move(*call);
    *out_call = handle.release();
    return {};
  });
}

bp_status_t bp_call_wait(bp_call_t *call, bp_error_t *error) {
  if (Status s = isHandle(call); !s.ok())
    return setError(error, s);
  std::unique_ptr<bp_call_t> owner(call);
  return guarded(error, [&] {
    AnyCall &running = *owner->call;
    return running.finish(std::move(owner->call));
  });
}

uint8_t bp_call_done(const bp_call_t *call) {
  return !isHandle(call).ok() || call->call->done();
}

bp_status_t bp_session_run(bp_session_t *session, const bp_tensor_t *inputs,
                           uint32_t input_count, const bp_tensor_t *outputs,
                           uint32_t output_count, bp_error_t *error) {
  return guarded(error, [&]() -> Status {
    if (Status s =
            checkCall(session, inputs, input_count, outputs, output_count);
        !s.ok())
      return s;
    TraceScope scope(session->session->trace(), "call");
    auto call = session->session->begin(
        {{inputs, input_count}, {outputs, output_count}}, true);
    if (!call)
      return call.status();
    AnyCall &running = **call;
    return running.finish(std::move(*call));
  });
}
