// SPDX-License-Identifier: Apache-2.0
//
// JobWorkers.cpp: the processes of a job, and what it asks them.
#include "Job.h"
#include "conformance/cases/Data.h"
#include "sdk/support/Hash.h"

#include <algorithm>

namespace backplane::conformance {

using worker::Frame;
using worker::FrameType;

Status checkFiles(const std::vector<worker::WireFile> &expected,
                  const worker::Hello &hello, bool all) {
  if (expected.empty())
    return {};
  for (const worker::WireFile &found : hello.files)
    if (std::ranges::none_of(expected, [&](const worker::WireFile &file) {
          return found.name == file.name && found.sha256 == file.sha256;
        }))
      return dataLoss("the plug-in's file '" + found.name +
                      "' is not the one that the run began with");
  bool right =
      all ? hello.files.size() == expected.size() : !hello.files.empty();
  return right ? Status()
               : dataLoss("the plug-in has other files than when the run "
                          "began");
}

/// Starts a process that is not there yet, with files that must be there.
Status Job::start(std::unique_ptr<worker::Process> &process,
                  const std::vector<std::string> &command,
                  const std::vector<worker::WireFile> &files, bool all) {
  auto started = worker::Process::start(command, options_.timeout);
  if (!started)
    return started.status();
  if (Status s = checkFiles(files, (*started)->hello(), all); !s.ok())
    return s;
  process = std::move(*started);
  return {};
}

Status Job::startWorker() {
  if (worker_)
    return {};
  loaded_ = false;
  if (options_.disguise)
    return startDisguised(worker_);
  Status status = start(worker_, options_.worker, options_.runFiles);
  if (status.ok())
    started_ = std::chrono::steady_clock::now();
  return status;
}

Status Job::startWorkerFor(const Unit &unit) {
  if (options_.freshVariables && !unit.graph.variables.empty())
    worker_.reset();
  return startWorker();
}

/// An application runs and compiles: it has the files of both workers.
Status Job::checkApplication(const worker::Hello &hello) const {
  std::vector<worker::WireFile> files = options_.runFiles;
  files.insert(files.end(), options_.compileFiles.begin(),
               options_.compileFiles.end());
  return checkFiles(files, hello, false);
}

/// An application takes the place of a worker.
Status Job::startDisguised(std::unique_ptr<worker::Process> &process) {
  ApplicationOptions application = options_.application;
  application.seed = randomBits(application.seed, ++applications_);
  auto started = Application::start(application);
  if (!started)
    return started.status();
  if (Status s = checkApplication((*started)->process().hello()); !s.ok())
    return s;
  kept_.push_back(std::move(*started));
  process = kept_.back()->take();
  return {};
}

Status Job::startCompiler() {
  if (compiler_)
    return {};
  return options_.disguise
             ? startDisguised(compiler_)
             : start(compiler_, options_.compiler, options_.compileFiles);
}

Declaration Job::declaration() const {
  Declaration declaration = declarationOf(compiler_->hello());
  declaration.strict = options_.strict;
  return declaration;
}

Result<worker::Hello> Job::runHello() {
  if (Status s = startWorker(); !s.ok())
    return s;
  return worker_->hello();
}

Result<worker::Hello> Job::hello() {
  if (Status s = startCompiler(); !s.ok())
    return s;
  return compiler_->hello();
}

/// A process that fails to answer is ended.
Result<Frame> Job::ask(std::unique_ptr<worker::Process> &process,
                       FrameType type, std::vector<uint8_t> payload) {
  Status status = process->send(type, std::move(payload), options_.timeout);
  Result<Frame> answer =
      status.ok() ? process->receive(options_.timeout) : Result<Frame>(status);
  if (!answer)
    process.reset();
  return answer;
}

Answer Job::compile(const Unit &unit) {
  Answer result;
  std::unique_ptr<worker::Process> &process =
      options_.disguise ? worker_ : compiler_;
  auto answer = ask(process, FrameType::Compile,
                    worker::encode(compileMessage(unit, options_.disguise)));
  worker::CompiledMessage compiled;
  Status status = answer.status();
  if (answer)
    status = answer->type == FrameType::Compiled
                 ? worker::decode(answer->payload, compiled)
                 : worker::errorOf(*answer);
  if (!status.ok()) {
    result.bad = chargeOfCompile(status.code(), !process);
    result.reason = "the unit did not compile: " + status.message();
    return result;
  }
  artifact_ = {hashBytes(compiled.artifact), compiled.artifact};
  shares_ = {};
  if (options_.helped) {
    auto shares = sharesOf(compiled.artifact);
    if (!shares) {
      result.bad = CaseStatus::Fail;
      result.reason = shares.message();
      return result;
    }
    shares_ = *shares;
  }
  loaded_ = false;
  result.milliseconds = compiled.milliseconds;
  return result;
}

Answer Job::runOnce(const std::vector<Tensor> &inputs) {
  Answer result;
  Status status = startWorker();
  if (status.ok() && !loaded_) {
    auto ready = ask(worker_, FrameType::Artifact, worker::encode(artifact_));
    status = !ready                            ? ready.status()
             : ready->type == FrameType::Ready ? Status()
                                               : worker::errorOf(*ready);
    loaded_ = status.ok();
    runs_ = 0;
  }
  if (status.ok()) {
    ++runs_;
    worker::RunMessage run{artifact_.hash, toWire(inputs)};
    if (options_.disguise)
      run.floatFill = run.otherFill = staleByte;
    auto answer = ask(worker_, FrameType::Run, worker::encode(run));
    status = !answer ? answer.status()
             : answer->type == FrameType::Result
                 ? worker::decode(answer->payload, result.result)
                 : worker::errorOf(*answer);
  }
  if (status.ok())
    return result;
  result.code = worker_ ? status.code() : int32_t(BP_STATUS_OK);
  result.bad = chargeOf(status.code(), !worker_);
  result.reason = status.message();
  // What a device has lost stays lost in its process.
  if (result.bad == CaseStatus::DeviceLost)
    worker_.reset();
  return result;
}

} // namespace backplane::conformance
