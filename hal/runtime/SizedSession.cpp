// SPDX-License-Identifier: Apache-2.0
#include "SizedSession.h"

#include <algorithm>

namespace backplane::rt {
namespace {

constexpr size_t maxSizes = 32; ///< that a session keeps

std::string textOf(const SymbolValues &sizes) {
  std::string text;
  for (const auto &[name, size] : sizes)
    text += (text.empty() ? "" : ", ") + name + "=" + std::to_string(size);
  return text;
}

} // namespace

Status SizedSession::reset() {
  std::lock_guard lock(mutex_);
  Status status = general_->reset();
  for (const Sized &one : known_)
    if (Status s = one.session->reset(); status.ok())
      status = std::move(s);
  return status;
}

uint64_t SizedSession::dispatchCount() const {
  std::lock_guard lock(mutex_);
  return (known_.empty() ? *general_ : *known_.front().session).dispatchCount();
}

Result<std::shared_ptr<AnySession>>
SizedSession::make(const SymbolValues &sizes) const {
  const SessionRequest &request = source_.request;
  auto compiled = request.compiler->compileSizes(
      *source_.artifact, source_.target, sizes, request.limits);
  return compiled ? createSession(*compiled, request)
                  : Result<std::shared_ptr<AnySession>>(compiled.status());
}

std::shared_ptr<AnySession>
SizedSession::sessionFor(const SymbolValues &sizes) {
  std::lock_guard lock(mutex_);
  auto at = std::ranges::find(known_, sizes, &Sized::sizes);
  if (at != known_.end()) {
    known_.splice(known_.begin(), known_, at);
    return known_.front().session;
  }
  auto made = make(sizes);
  if (!made)
    source_.artifact->registry->host().log(
        BP_LOG_WARNING, "target " + source_.target + " is not compiled for " +
                            textOf(sizes) +
                            ", code for any sizes runs: " + made.message());
  known_.push_front({sizes, made ? std::move(*made) : general_});
  if (known_.size() > maxSizes)
    known_.pop_back();
  return known_.front().session;
}

Result<std::unique_ptr<AnyCall>> SizedSession::begin(const CallTensors &tensors,
                                                     bool callerWaits) {
  Result<SymbolValues> sizes = signature().bind(tensors.inputs, false);
  if (!sizes)
    return sizes.status();
  return sessionFor(*sizes)->begin(tensors, callerWaits);
}

std::shared_ptr<AnySession>
withSizes(std::shared_ptr<AnySession> general,
          const std::shared_ptr<const LoadedArtifact> &artifact,
          const SessionRequest &request, Selection &selection) {
  const ArtifactInfo &info = artifact->file->metadata();
  const Candidate *chosen = selection.chosen();
  if (!request.jit || !request.compiler || !chosen ||
      info.graph.bytes.empty() || info.symbols.empty() ||
      !info.variables.empty() || worker::RemoteUri::matches(chosen->uri) ||
      !request.compiler->compilesSizes(chosen->target))
    return general;
  SizedSession::Source source{artifact, request, chosen->target};
  source.request.jit = false;
  source.request.chooser = nullptr;
  source.request.device = chosen->uri;
  for (const std::string &further : chosen->further)
    source.request.device += "+" + further;
  selection.remarks.push_back("target " + chosen->target +
                              " is compiled for each set of sizes");
  return std::make_shared<SizedSession>(std::move(general), std::move(source));
}

} // namespace backplane::rt
