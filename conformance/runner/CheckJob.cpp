// SPDX-License-Identifier: Apache-2.0
//
// CheckJob.cpp: units whose cases are checks of the plug-in. They run in a
// worker of their own, in which nothing but a check touches the plug-in; after
// a check that is not good it is replaced.
#include "Job.h"
#include "sdk/support/Hash.h"

#include <algorithm>

namespace backplane::conformance {

using worker::Frame;
using worker::FrameType;

Status Job::startChecker() {
  if (checker_)
    return {};
  artifactsSent_ = false;
  std::vector<std::string> command = options_.worker;
  command.push_back("--checks");
  return start(checker_, command, options_.runFiles, false);
}

/// Compiles the unit's graph in a fresh process. A failure leaves `again_`
/// empty, which the check that looks at it complains about.
Status Job::compileAgain(const Unit &unit) {
  again_ = {};
  compiler_.reset();
  if (Status s = startCompiler(); !s.ok())
    return s;
  auto answer =
      ask(compiler_, FrameType::Compile, worker::encode(compileMessage(unit)));
  worker::CompiledMessage compiled;
  bool done = answer && answer->type == FrameType::Compiled &&
              worker::decode(answer->payload, compiled).ok();
  if (done)
    again_ = {hashBytes(compiled.artifact), compiled.artifact};
  return startCompiler();
}

Status Job::sendArtifacts() {
  if (artifactsSent_)
    return {};
  for (const worker::ArtifactMessage *message : {&artifact_, &again_}) {
    if (message->bytes.empty())
      continue;
    auto answer = ask(checker_, FrameType::Artifact, worker::encode(*message));
    if (!answer)
      return answer.status();
    if (answer->type != FrameType::Ready)
      return worker::errorOf(*answer);
  }
  artifactsSent_ = true;
  return {};
}

/// Runs one check in the worker that there is.
void Job::check(const Case &testCase, Record &record) {
  Status status = sendArtifacts();
  worker::CheckedMessage message;
  if (status.ok()) {
    auto answer = ask(checker_, FrameType::Check,
                      worker::encode(worker::CheckMessage{
                          testCase.id, artifact_.hash, again_.hash}));
    status = !answer ? answer.status()
             : answer->type == FrameType::Checked
                 ? worker::decode(answer->payload, message)
                 : worker::errorOf(*answer);
  }
  constexpr CaseStatus outcomes[] = {CaseStatus::Pass, CaseStatus::Fail,
                                     CaseStatus::NotSupported,
                                     CaseStatus::ResourceError};
  record.runMs = message.milliseconds;
  record.reason = status.ok() ? message.text : status.message();
  record.status = !status.ok() ? chargeOf(status.code(), !checker_)
                               : outcomes[std::min(message.outcome, 3u)];
}

/// A failure among others that passes alone depends on what ran before.
Status Job::runCheck(const Case &testCase, Record &record) {
  bool fresh = !checker_;
  if (Status s = startChecker(); !s.ok())
    return s;
  check(testCase, record);
  if (isGood(record.status))
    return {};
  checker_.reset();
  bool repeat = !fresh && record.status != CaseStatus::Timeout;
  if (!repeat)
    return {};
  if (Status s = startChecker(); !s.ok())
    return s;
  Record alone = record;
  check(testCase, alone);
  checker_.reset();
  if (!isGood(alone.status)) {
    record = alone;
    return {};
  }
  record.reason = "passes in a fresh process, but after other checks: " +
                  std::string(name(record.status)) + ", " + record.reason;
  record.status = CaseStatus::Flaky;
  return {};
}

Status Job::runChecks(const Unit &unit, std::vector<Record> &records) {
  artifactsSent_ = false;
  again_ = {};
  if (unit.graph.outputs.empty())
    artifact_ = {};
  else if (Status s = compileAgain(unit); !s.ok())
    return s;
  for (size_t i = 0; i < records.size(); ++i)
    if (Status s = runCheck(unit.cases[i], records[i]); !s.ok())
      return s;
  return {};
}

} // namespace backplane::conformance
