// SPDX-License-Identifier: Apache-2.0
//
// SessionCreate.cpp: which candidate becomes the session: the first that loads;
// if none does and the application allows it, the stored graph is compiled.
#include "RemoteSession.h"
#include "Session.h"
#include "SizedSession.h"

#include <algorithm>

namespace backplane::rt {
namespace {

using LoadedSession = Result<std::shared_ptr<AnySession>>;

/// Those that the variant needs: as asked for, else the first of each driver.
std::vector<std::string> furtherDevices(const LoadedArtifact &artifact,
                                        const Candidate &candidate) {
  std::vector<std::string> uris = candidate.further;
  const auto &needs =
      artifact.file->metadata().variants[candidate.variant].devices;
  for (size_t i = uris.size() + 1; i < needs.size(); ++i)
    uris.push_back(needs[i].driver);
  return uris;
}

LoadedSession load(const std::shared_ptr<const LoadedArtifact> &artifact,
                   const SessionRequest &request, const Candidate &candidate) {
  if (!worker::RemoteUri::matches(candidate.uri)) {
    auto session = Session::load(artifact, candidate, request.budget);
    return session ? LoadedSession(std::move(*session)) : session.status();
  }
  Result<worker::RemoteUri> uri = worker::RemoteUri::parse(candidate.uri);
  if (!uri)
    return uri.status();
  uri->further = furtherDevices(*artifact, candidate);
  auto session = RemoteSession::create(artifact, *request.workers, *uri,
                                       candidate.variant, request.budget);
  return session ? LoadedSession(std::move(*session)) : session.status();
}

/// Says when a part of the model runs where nobody asked for it.
void tellFallback(const LoadedArtifact &artifact, const Candidate &candidate) {
  std::vector<std::string> uris = furtherDevices(artifact, candidate);
  std::string others;
  for (size_t i = candidate.further.size(); i < uris.size(); ++i)
    others += (others.empty() ? "" : ", ") + uris[i];
  if (!others.empty())
    artifact.registry->host().log(
        BP_LOG_WARNING, "a part of the model runs on " + others + ", as " +
                            candidate.uri +
                            " lacks something; bp explain says what, and "
                            "without fallback it is an error");
}

/// Loads the first candidate that can be loaded; the others get the reason why
/// they could not be, and the log warns of it when there is one that can.
std::shared_ptr<AnySession>
loadFirst(const std::shared_ptr<const LoadedArtifact> &artifact,
          const SessionRequest &request, Selection &selection) {
  std::vector<std::string> failures;
  for (Candidate &candidate : selection.candidates) {
    if (!candidate.open())
      continue;
    LoadedSession session = load(artifact, request, candidate);
    if (session) {
      choose(selection);
      if (!(*session)->choice().empty())
        selection.remarks.push_back((*session)->choice());
      for (const std::string &failure : failures)
        artifact->registry->host().log(BP_LOG_WARNING, failure);
      tellFallback(*artifact, candidate);
      return *session;
    }
    candidate.refusal = "does not load: " + session.message();
    candidate.failure = session.status();
    failures.push_back(candidate.target + " on " + candidate.uri + " " +
                       candidate.refusal);
  }
  return nullptr;
}

/// The devices of a selection that exist, in its order.
std::vector<std::string> devicesOf(const Selection &selection) {
  std::vector<std::string> uris;
  for (const Candidate &candidate : selection.candidates)
    if (candidate.info && std::ranges::find(uris, candidate.uri) == uris.end())
      uris.push_back(candidate.uri);
  return uris;
}

/// Compiles the stored graph for one device after the other until one loads.
std::shared_ptr<AnySession>
compileAndLoad(const std::shared_ptr<const LoadedArtifact> &artifact,
               const SessionRequest &request, Selection &selection) {
  for (const std::string &uri : devicesOf(selection)) {
    Result<std::shared_ptr<const LoadedArtifact>> compiled =
        request.compiler->compileFor(*artifact, uri, request.workers,
                                     request.limits);
    if (!compiled) {
      selection.remarks.push_back("JIT for " + uri +
                                  " failed: " + compiled.message());
      continue;
    }
    Result<DevicePolicy> policy = DevicePolicy::parse(uri);
    if (!policy)
      continue;
    Selection fresh = consider(*artifact->registry, request.workers,
                               (*compiled)->file->metadata(), *policy);
    auto session = loadFirst(*compiled, request, fresh);
    for (Candidate &candidate : fresh.candidates) {
      candidate.note += ", compiled at load from the stored graph";
      selection.candidates.push_back(std::move(candidate));
    }
    if (session)
      return session;
  }
  return nullptr;
}

} // namespace

void AnySession::tell(std::string choice, std::string explanation) {
  choice_ = std::move(choice);
  const ValueMemory *memory = values();
  explanation_ =
      std::move(explanation) + kernels_ +
      (memory ? "values on " + memory->device().uri() + " are used in place\n"
              : "values on devices are copied through the host\n");
}

Result<std::shared_ptr<AnySession>>
createSession(const std::shared_ptr<const LoadedArtifact> &artifact,
              const SessionRequest &request) {
  TraceScope scope(artifact->registry->host().trace(), "create session");
  Result<Selection> selection = select(artifact, request);
  if (!selection)
    return selection.status();
  std::shared_ptr<AnySession> session =
      loadFirst(artifact, request, *selection);
  if (!session && request.jit && request.compiler)
    session = compileAndLoad(artifact, request, *selection);
  if (!session)
    return selection->failure();
  session = withSizes(session, artifact, request, *selection);
  session->tell(selection->line(), selection->lines());
  scope.add("choice", std::string_view(session->choice()));
  return session;
}

} // namespace backplane::rt
