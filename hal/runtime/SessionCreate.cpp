// SPDX-License-Identifier: Apache-2.0
//
// SessionCreate.cpp: which candidate becomes the session: the first that loads;
// if none does and the application allows it, the stored graph is compiled.
#include "CompileModel.h"
#include "Session.h"

#include <algorithm>

namespace backplane::rt {
namespace {

/// Loads the first candidate that can be loaded; the others get the reason why
/// they could not be.
std::shared_ptr<Session>
loadFirst(const std::shared_ptr<const LoadedArtifact> &artifact,
          uint64_t budget, Selection &selection) {
  for (Candidate &candidate : selection.candidates) {
    if (!candidate.open())
      continue;
    auto session = Session::load(artifact, candidate, budget);
    if (session) {
      choose(selection);
      return *session;
    }
    candidate.refusal = "does not load: " + session.message();
    candidate.failure = session.status();
    artifact->registry->host().log(BP_LOG_INFO, candidate.target + " on " +
                                                    candidate.uri + " " +
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
std::shared_ptr<Session>
compileAndLoad(const std::shared_ptr<const LoadedArtifact> &artifact,
               const SessionRequest &request, Selection &selection) {
  for (const std::string &uri : devicesOf(selection)) {
    std::string driver = uri.substr(0, uri.find("://"));
    auto compiled = request.compiler->compileStored(*artifact, driver);
    if (!compiled) {
      selection.remarks.push_back("JIT for " + uri +
                                  " failed: " + compiled.message());
      continue;
    }
    Result<DevicePolicy> policy = DevicePolicy::parse(uri);
    if (!policy)
      continue;
    Selection fresh =
        consider(*artifact->registry, (*compiled)->file->metadata(), *policy);
    auto session = loadFirst(*compiled, request.budget, fresh);
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

Result<std::shared_ptr<Session>>
Session::create(const std::shared_ptr<const LoadedArtifact> &artifact,
                const SessionRequest &request) {
  TraceScope scope(artifact->registry->host().trace(), "create session");
  Result<Selection> selection = select(artifact, request);
  if (!selection)
    return selection.status();
  std::shared_ptr<Session> session =
      loadFirst(artifact, request.budget, *selection);
  if (!session && request.jit && request.compiler)
    session = compileAndLoad(artifact, request, *selection);
  if (!session)
    return selection->failure();
  session->choice_ = selection->line();
  scope.add("choice", std::string_view(session->choice_));
  session->selection_ = std::move(*selection);
  return session;
}

} // namespace backplane::rt
