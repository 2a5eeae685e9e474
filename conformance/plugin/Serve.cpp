// SPDX-License-Identifier: Apache-2.0
//
// The worker that runs checks of a plug-in. It opens no context: whatever the
// plug-in does, it does inside a check.
#include "Serve.h"
#include "Check.h"
#include "hal/core/LinkedPlugins.h"
#include "hal/worker/Loop.h"
#include "sdk/support/Hash.h"

#include <chrono>
#include <list>

namespace backplane::checks {

using namespace worker;

namespace {

class Checker {
public:
  explicit Checker(PluginUnderTest tested) : tested_(std::move(tested)) {}

  Status handle(const Frame &request, Frame &answer) {
    if (request.type == FrameType::Artifact)
      return keep(request.payload, answer);
    if (request.type == FrameType::Check)
      return check(request, answer);
    return unimplemented("this worker runs checks; it got frame type " +
                         std::to_string(unsigned(request.type)));
  }

private:
  static constexpr size_t maxKept = 4;

  Status keep(std::span<const uint8_t> payload, Frame &answer);
  Status check(const Frame &request, Frame &answer);
  Result<std::span<const uint8_t>> find(const std::string &hash) const;

  PluginUnderTest tested_;
  std::list<ArtifactMessage> kept_; ///< latest first
};

Status Checker::keep(std::span<const uint8_t> payload, Frame &answer) {
  ArtifactMessage message;
  if (Status s = decode(payload, message); !s.ok())
    return s;
  if (hashBytes(message.bytes) != message.hash)
    return dataLoss("an artifact does not have the hash it was sent with");
  kept_.push_front(std::move(message));
  if (kept_.size() > maxKept)
    kept_.pop_back();
  answer.type = FrameType::Ready;
  return {};
}

Result<std::span<const uint8_t>> Checker::find(const std::string &hash) const {
  if (hash.empty())
    return std::span<const uint8_t>();
  for (const ArtifactMessage &message : kept_)
    if (message.hash == hash)
      return std::span<const uint8_t>(message.bytes);
  return notFound("artifact " + hash + " is not here; send it first");
}

Status Checker::check(const Frame &request, Frame &answer) {
  CheckMessage message;
  if (Status s = decode(request.payload, message); !s.ok())
    return s;
  const Check *check = findCheck(message.check);
  if (!check)
    return notFound("this worker has no check '" + message.check + "'");
  auto artifact = find(message.artifact), again = find(message.again);
  if (!artifact || !again)
    return artifact ? again.status() : artifact.status();
  PluginUnderTest tested = tested_;
  tested.artifact = *artifact;
  tested.again = *again;
  auto start = std::chrono::steady_clock::now();
  auto fill = [&](const Trial::Outcome &outcome) {
    std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - start;
    answer = {FrameType::Checked, request.request,
              encode(CheckedMessage{outcome.kind, outcome.text, took.count()})};
  };
  auto leave = [&](const Trial::Outcome &outcome) {
    fill(outcome);
    answerAndLeave(answer);
  };
  fill(runCheck(*check, tested, leave));
  return {};
}

} // namespace

int serveChecks(const WorkerOptions &options) {
  return serve(options, [&](Hello &greeting) -> Result<Handler> {
    if (!linkedPlugins().empty())
      return unimplemented("this worker is static: it has no plug-in files to "
                           "check; use bp-worker");
    Result<PluginUnderTest> tested =
        findPluginUnderTest(options.device, takenEnvironment());
    if (!tested)
      return tested.status();
    greeting.version = view(bp_version());
    greeting.device = options.device;
    greeting.plugin = tested->name;
    describePlugins({tested->name}, greeting);
    auto checker = std::make_shared<Checker>(std::move(*tested));
    return Handler([checker](const Frame &request, Frame &answer) {
      return checker->handle(request, answer);
    });
  });
}

} // namespace backplane::checks
